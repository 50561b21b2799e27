//! Finds and checks the columns of users and items in every schema, before any row is read.

mod column_layout;
mod common_type;
mod listed_types;
mod named_items;
mod positions;
mod type_texts;

pub use column_layout::ColumnLayout;
pub(super) use listed_types::ListedType;
pub use listed_types::ListedTypes;
pub(super) use positions::{Positions, Role, position, roles};
