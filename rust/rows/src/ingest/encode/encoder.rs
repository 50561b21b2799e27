//! One thread's encoder.

use arrow_array::{Array, ArrayRef};
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;

use super::chunk::Chunk;
use super::items::{ItemEncoder, ItemParts};
use super::sink::Sink;
use super::users::UserEncoder;
use crate::ingest::layout::ColumnLayout;

/// Rows encoded at a time. They fit the second-level cache, and are enough that each lock of an interner's shard serves
/// many of them.
const ROWS: usize = 8 * 1024;

/// One thread's encoder: gives codes to users and items and passes rows on.
#[derive(Debug)]
pub(in crate::ingest) struct Encoder<S> {
    sink: S,
    users: UserEncoder,
    items: ItemEncoder,
}

impl<S: Sink> Encoder<S> {
    pub(in crate::ingest) fn new(layout: &ColumnLayout, key: &ReleaseKey, sink: S) -> Self {
        Self {
            sink,
            users: UserEncoder::new(layout.users(), key),
            items: ItemEncoder::new(layout.item_keys(), ItemParts::of(layout.ngrams(), layout.levels()), key),
        }
    }

    /// Encode all rows of a chunk.
    pub(in crate::ingest) fn encode(&mut self, chunk: &Chunk) -> Result<()> {
        let rows = chunk.users.first().map_or(0, Array::len);
        for start in (0..rows).step_by(ROWS) {
            let length = ROWS.min(rows - start);
            let slices = |columns: &[ArrayRef]| columns.iter().map(|c| c.slice(start, length)).collect();
            let (users, items): (Vec<ArrayRef>, Vec<ArrayRef>) = (slices(&chunk.users), slices(&chunk.items));
            let codes = self.sink.begin()?;
            self.users.expect(codes);
            self.items.expect(codes);
            let position = (&*chunk.source, chunk.first_row + start as u64);
            self.users.encode(&users, position, &mut self.sink)?;
            let (codes, counts) = self.items.encode(&items, &chunk.source, &mut self.sink)?;
            let (users, lens) = self.users.runs(length, counts)?;
            self.sink.push(users, lens, codes)?;
            self.sink.end()?;
        }
        Ok(())
    }

    /// The sink with all rows in it.
    pub(in crate::ingest) fn into_sink(self) -> S {
        self.sink
    }
}
