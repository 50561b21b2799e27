//! Some rows of a source, on their way from a decoder to an encoder.

use std::sync::Arc;

use arrow_array::ArrayRef;

/// The needed columns of some rows of one source.
#[derive(Debug, Clone)]
pub(in crate::ingest) struct Chunk {
    pub(in crate::ingest) users: Vec<ArrayRef>,
    pub(in crate::ingest) items: Vec<ArrayRef>,
    /// The name of the file, or of the input.
    pub(in crate::ingest) source: Arc<str>,
    /// Position of the first row in its source, from 0.
    pub(in crate::ingest) first_row: u64,
    /// Bytes or rows that this chunk adds to the progress.
    pub(in crate::ingest) work: u64,
}
