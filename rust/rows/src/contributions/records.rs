//! The record beside each distinct key: the bytes of an item's key if its digest does not tell it, and nothing for a user.

use super::shard::Records;
use crate::ingest::{KeyStore, Payload};

impl<P: Payload> Records<P> for KeyStore {
    fn append(&mut self, payload: &P, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        payload.append_to(rows, self);
    }
    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// The record of a user, which is empty: only the digest is stored.
#[derive(Debug)]
pub(super) struct NoRecord;

impl Records<()> for NoRecord {
    fn append(&mut self, _source: &(), _rows: impl ExactSizeIterator<Item = usize> + Clone) {}
    fn bytes(&self) -> usize {
        0
    }
}
