//! Public tables beside the data, in the types of the data: the domain of a top-k, the ranks of a greedy order, and the
//! items that are excluded or public. [`Members`] tells which rows of another table have an item of a list.
//!
//! Items are equal only if they have the same kind. A list of texts beside a column of integers would match nothing,
//! and nobody would notice. So an item is cast if the cast is exact, that is, if casting it back gives the same item.
//! The text `12` becomes the integer 12, and `012` is refused; the text `2024-01-31` becomes a date. An item that is
//! neither of the column's kind nor text is refused, because a number may be written in many ways.
//!
//! Listed items come back in the declared types of the data. If the data declares no type, the types of its values
//! depend on unreleased rows, so the items come back in the types in which they were listed (`ListedTypes`).

mod cast;
mod kind_names;
mod list;
mod members;
mod own_items;
mod prior;
mod target;
#[cfg(test)]
mod tests;

pub use list::{DOMAIN, PublicList};
pub use members::Members;
pub use prior::Prior;
