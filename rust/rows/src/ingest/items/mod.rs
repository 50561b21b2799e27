//! Codes, keys and columns of items. The rooms above store codes and keys; the columns of a release are built from
//! keys.

mod codes;
mod composite;
mod inferred_types;
mod key_columns;
mod keys;
mod parts;
mod schema;
mod value_order;

pub use codes::{Code, ItemCode, Side, UserCode};
pub(super) use composite::{encode as encode_composite, push_component};
pub(crate) use key_columns::with_rows;
pub use keys::{Key, KeyStore, Payload};
pub(crate) use parts::with_parts;
pub use schema::ItemSchema;
pub use value_order::sorted;
