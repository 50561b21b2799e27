//! The types of the item columns: how keys become Arrow columns again.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::Result;
use crate::contributions::KeyStore;

/// Types and names of the item columns as they came in.
#[derive(Debug, Clone)]
pub struct ItemSchema {
    schema: SchemaRef,
}

impl ItemSchema {
    /// The item columns' Arrow schema: names and types as they came in, dictionaries replaced by their values.
    pub fn arrow_schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Decode keys into freshly built columns (law 5), in the order given.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the keys do not have this schema.
    pub fn decode<'a>(&self, keys: impl Iterator<Item = (&'a KeyStore, usize)>) -> Result<RecordBatch> {
        let _ = keys;
        todo!()
    }
}

/// Sort rows by the columns from left to right; also returns, for each row of the result, where it stood before.
///
/// # Errors
/// [`crate::Error::Internal`] if a type has no order.
pub fn sorted(batch: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
    let _ = batch;
    todo!()
}
