//! All randomness: a keyed pseudorandom function of (release key, purpose, round, user and item).
//!
//! Nothing here has a state: the same key and the same names give the same bits on any thread, in any
//! order, in any process (law 2). See `docs/decisions/0002-prf.md` for the choice of primitives.

mod block;
mod bloom;
pub mod bytes;
mod cipher;
mod coins;
mod digest;
mod key;
mod sorting;
mod words;
mod wrapping;

pub use block::{Block, KeyKind, ShortBytes};
pub use bloom::Bloom;
pub use coins::{Coins, ItemBits};
pub use digest::{Digest, DigestBatch, Digester};
pub use key::{Purpose, ReleaseKey, system_bytes};
pub use sorting::{CodedWords, agree, code_of, order_ties, with_code};
pub use words::{PairWords, Words};
pub use wrapping::{Secret, Share, WrappedKey};
