//! Batches to codes and runs: the hot path between decoding and interning.
//!
//! The code that takes the encoded rows is a type parameter ([`Sink`]), so nothing here is dispatched row by row.

mod chunk;
mod coder;
mod encoder;
mod frequent;
mod items;
mod levels;
mod ngrams;
mod own_codes;
mod payload;
mod sink;
mod users;

pub(super) use chunk::Chunk;
pub(super) use encoder::Encoder;
pub use own_codes::OwnCodes;
pub use sink::Codes;
pub use sink::Sink;
