//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item), or the first ones
//! in an order of preference.

mod ancestor_order;
mod bounded_contributions;
mod item_set;
mod kept_piece;
mod priorities;
#[cfg(test)]
mod tests;

pub use bounded_contributions::{BoundedContributions, KeptItems};
pub use item_set::ItemSet;
pub(crate) use kept_piece::KeptPiece;
pub use priorities::{AHEAD, PlacedItems, Priorities};
