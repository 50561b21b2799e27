//! Copies the keys of new items from the columns of a batch.

use crate::ingest::columns::ByteColumn;
use crate::ingest::items::{KeyStore, Payload};

/// Integers and the like, which their digests tell.
pub(super) struct NoPayload;

impl Payload for NoPayload {
    #[inline]
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

/// Takes the keys of new items from a column of bytes.
pub(super) struct BytePayload<'a, C>(pub(super) &'a C);

impl<C: ByteColumn> Payload for BytePayload<'_, C> {
    #[inline]
    fn append_to(&self, rows: impl ExactSizeIterator<Item = usize> + Clone, store: &mut KeyStore) {
        store.extend_bytes(rows.map(|row| self.0.get(row)));
    }
}
