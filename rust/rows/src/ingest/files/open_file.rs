//! One file whose columns are checked.

use super::hive::FolderColumns;
use crate::ingest::layout::ColumnLayout;
use crate::ingest::pool::Task;

/// One file whose columns are checked, with the tasks that read it.
pub(super) struct OpenFile {
    pub(super) layout: ColumnLayout,
    /// The needed columns that its folders tell.
    pub(super) folders: FolderColumns,
    /// Bytes to be read, if known.
    pub(super) bytes: Option<u64>,
    /// At most so many rows have a user and an item, as far as the file says so before it is read; otherwise zero.
    pub(super) rows: u64,
    pub(super) tasks: Vec<Box<dyn Task + Send>>,
}
