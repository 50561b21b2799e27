//! Which columns of a table are read, and what they make: checked against every schema before any row is read.

mod column_layout;
mod common_type;
mod positions;

pub(crate) use column_layout::ColumnLayout;
pub(super) use positions::{Positions, Role, list_names, roles};
