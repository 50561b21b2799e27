//! Codes, keys and columns of items: what the rooms above keep of an item, and how it becomes a column again.

mod codes;
mod composite;
mod decoded;
mod keys;
mod schema;
mod sorted;
mod undeclared;

pub use codes::{Code, ItemCode, Side, UserCode};
pub(super) use composite::encode as encode_composite;
pub(super) use decoded::with_rows;
pub use keys::{KeyLayout, KeyStore, Payload};
pub use schema::ItemSchema;
pub use sorted::sorted;
