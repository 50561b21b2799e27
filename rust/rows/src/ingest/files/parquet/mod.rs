//! Parquet: the footer is read once, only the needed columns are decoded, and each row group makes tasks.
//!
//! The footer is at the end of the file, so a pipe is read into memory first.

#[cfg(unix)]
mod chunk_reader;
mod concatenation_check;
mod declared;
mod first_pages;
mod int96;
mod shared_file;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use dpsel_exact::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Encoding;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

use super::hive::FolderColumns;
use super::input::Input;
use super::magic;
use super::open_file::OpenFile;
use super::reason::{guarded, unreadable};
use super::tables;
use crate::ingest::encode::Chunk;
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::Columns;
use crate::ingest::pool::Task;
use crate::runtime::Control;
use shared_file::{FOOTER, SharedFile, check_rows, failed, needed, rows_held, unread};

/// Rows decoded at a time.
const BATCH: usize = 32 * 1024;
/// Rows of one part of a row group, about. Parts let one large row group keep all threads busy.
const PART: usize = 1024 * 1024;
/// The last row group of a file is divided into parts of at least so many rows. Whole, it would keep one thread busy while
/// the others wait.
const LAST_PART: usize = 64 * 1024;

/// Some rows of one row group.
struct Part {
    file: Arc<SharedFile>,
    group: usize,
    rows: Range<usize>,
    /// Whether these are all of them.
    is_whole: bool,
    first_row: u64,
    /// Bytes that the part stands for.
    work: u64,
}

/// Read the footer and plan the parts.
///
/// # Errors
/// [`Error::File`] for a file that is not Parquet or truncated, [`Error::Schema`] for its columns.
pub(super) fn open(
    input: Input,
    folders: FolderColumns,
    columns: &Columns,
    control: &Control,
) -> Result<OpenFile> {
    let input = input.held(control)?;
    let (path, source) = (input.name(), input.source());
    let declared = match (input.on_disk()?, input.in_memory()) {
        (Some(file), _) => footer(&input, &file),
        (None, Some(bytes)) => footer(&input, &bytes),
        (None, None) => Err(NO_BYTES),
    }?;
    tables::check_footer(path, declared.metadata().file_metadata())?;
    let footer = declared::with_strings(declared.clone()).and_then(int96::in_exact_units);
    let footer = footer.map_err(|e| failed(path, &e, FOOTER))?;
    let schema = declared::schema(&declared, footer.schema());
    let (folders, own) = (folders.without(&schema), schema.fields().len());
    let (layout, positions) = ColumnLayout::new(&folders.behind(&schema), columns, &source)?;
    let roots: Vec<usize> = positions.ascending().into_iter().filter(|at| *at < own).collect();
    let mask = ProjectionMask::roots(footer.parquet_schema(), roots.iter().copied());
    // Otherwise: the types of the file.
    let metadata = faster(&footer, roots).unwrap_or(footer);
    let instants = int96::columns(&metadata, &mask);
    let positions = positions.projected();
    let shared = SharedFile { input, source, metadata, mask, folders: folders.clone(), positions, instants };
    let rows = shared.metadata.metadata().row_groups().iter().map(|group| rows_held(group, &shared.mask));
    let rows = rows.fold(0_u64, u64::saturating_add);
    check_rows(&shared)?;
    match (shared.input.on_disk()?, shared.input.in_memory()) {
        (Some(file), _) => first_pages::check(&shared, file),
        (None, Some(bytes)) => first_pages::check(&shared, bytes),
        (None, None) => Err(NO_BYTES),
    }?;
    let (tasks, bytes) = parts(&Arc::new(shared), control.threads())?;
    Ok(OpenFile { layout, folders, bytes: Some(bytes), rows, tasks })
}

/// The footer of a file that starts where its footer says.
fn footer(input: &Input, bytes: &impl ChunkReader) -> Result<ArrowReaderMetadata> {
    let path = input.name();
    let footer = ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new()).map_err(|e| {
        magic::other_than(b"PAR1", input.peek().ok())
            .map_or_else(|| failed(path, &e, FOOTER), |kind| unreadable(path, kind.refusal()))
    })?;
    concatenation_check::check(bytes, footer.metadata(), path)?;
    Ok(footer)
}

const NO_COLUMNS: Error = Error::Internal("columns of folders do not fit the rows of a file");
const NO_BYTES: Error = Error::Internal("a Parquet file is neither on a disk nor in memory");

/// The tasks of a file that so many threads read, and their bytes.
fn parts(file: &Arc<SharedFile>, threads: usize) -> Result<(Vec<Box<dyn Task + Send>>, u64)> {
    let groups = file.metadata.metadata().num_row_groups();
    let (mut tasks, mut bytes, mut first_row): (Vec<Box<dyn Task + Send>>, _, _) = (Vec::new(), 0, 0);
    for (group, metadata) in file.metadata.metadata().row_groups().iter().enumerate() {
        let group_bytes: u64 =
            needed(metadata, &file.mask).map(|c| c.compressed_size().max(0).unsigned_abs()).sum();
        let rows = usize::try_from(metadata.num_rows())
            .map_err(|_| unreadable(file.input.name(), "a row group has a negative number of rows"))?;
        let flat = needed(metadata, &file.mask).all(|c| c.column_descr().max_rep_level() == 0);
        let pieces = if flat { pieces(rows, groups - group, groups, threads) } else { 1 };
        for piece in 0..pieces {
            let range = range(rows, piece, pieces);
            let rows = range.len() as u64;
            let work = group_bytes / pieces as u64;
            let (file, is_whole) = (Arc::clone(file), pieces == 1);
            tasks.push(Box::new(Part { file, group, rows: range, is_whole, first_row, work }));
            first_row += rows;
            bytes += work;
        }
    }
    Ok((tasks, bytes))
}

/// The number of parts of a row group with so many rows, which is one of the last `left` of `groups`.
///
/// Each part reads the dictionary anew. So the last row group is divided finely only in a file of many.
fn pieces(rows: usize, left: usize, groups: usize, threads: usize) -> usize {
    let last = if left == 1 && groups >= 2 * threads && threads > 1 { 2 * threads } else { 1 };
    (rows / PART).max(last.min(rows / LAST_PART)).max(1)
}

/// The rows of one of the parts of a row group. Each row is in one part.
fn range(rows: usize, piece: usize, pieces: usize) -> Range<usize> {
    rows * piece / pieces..rows * (piece + 1) / pieces
}

/// The same file with strings read as dictionaries if all pages of the column are dictionary-encoded, and as views
/// otherwise. Both save a copy of every value. `None` if the reader does not support it.
fn faster(plain: &ArrowReaderMetadata, roots: Vec<usize>) -> Option<ArrowReaderMetadata> {
    let mut fields: Vec<FieldRef> = plain.schema().fields().iter().cloned().collect();
    for at in roots {
        let root = ProjectionMask::roots(plain.parquet_schema(), [at]);
        let dictionary =
            plain.metadata().row_groups().iter().all(|group| needed(group, &root).all(only_dictionary));
        let field = fields.get_mut(at)?;
        *field = Arc::new(field.as_ref().clone().with_data_type(faster_type(field.data_type(), dictionary)));
    }
    let schema = Schema::new_with_metadata(fields, plain.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options).ok()
}

fn faster_type(data_type: &DataType, dictionary: bool) -> DataType {
    let of = |plain: DataType, view: DataType| {
        if dictionary { DataType::Dictionary(Box::new(DataType::Int32), Box::new(plain)) } else { view }
    };
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => of(DataType::Utf8, DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            of(DataType::Binary, DataType::BinaryView)
        }
        DataType::Dictionary(_, values) => faster_type(values, dictionary),
        DataType::List(field) => {
            let values = faster_type(field.data_type(), dictionary);
            DataType::List(Arc::new(field.as_ref().clone().with_data_type(values)))
        }
        other => other.clone(),
    }
}

/// Whether the column chunk has no data page outside its dictionary.
fn only_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let dictionary = |e: Encoding| matches!(e, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    match chunk.page_encoding_stats_mask() {
        Some(mask) => mask.encodings().all(dictionary),
        None => false,
    }
}

impl Part {
    /// Opens the file anew for each part. Elsewhere than on Unix, clones of one handle share a position.
    fn reader(&self) -> Result<ParquetRecordBatchReader> {
        match (self.file.input.on_disk()?, self.file.input.in_memory()) {
            #[cfg(unix)]
            (Some(file), _) => self.reader_of(chunk_reader::FileChunkReader::new(file)),
            #[cfg(not(unix))]
            (Some(file), _) => self.reader_of(file),
            (None, Some(bytes)) => self.reader_of(bytes),
            (None, None) => Err(NO_BYTES),
        }
    }

    fn reader_of<R: ChunkReader + 'static>(&self, bytes: R) -> Result<ParquetRecordBatchReader> {
        let file = &self.file;
        let failed = |error| failed(file.input.name(), &error, &self.reason());
        let bytes = Arc::new(bytes);
        if self.rows.start == 0 {
            for column in &file.instants {
                column.check(&bytes, &file.metadata, self.group, &file.source, failed)?;
            }
        }
        let bytes = Arc::into_inner(bytes).ok_or(NO_BYTES)?;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, file.metadata.clone())
            .with_row_groups(vec![self.group])
            .with_projection(file.mask.clone())
            .with_batch_size(BATCH);
        // Without a limit, rows beyond the stated number are seen.
        let reader = if self.is_whole {
            reader
        } else {
            reader.with_offset(self.rows.start).with_limit(self.rows.len())
        };
        reader.build().map_err(failed)
    }

    fn reason(&self) -> String {
        unread(self.group)
    }

    /// Why a batch was not decoded. The words of the decoder are not kept.
    fn reason_of(&self, error: &ArrowError) -> String {
        let words = error.to_string().to_lowercase();
        if words.contains("utf-8") || words.contains("utf8") {
            return format!(
                "a text in row group {} is not valid UTF-8; write such values as binary",
                self.group
            );
        }
        if words.contains("crc") {
            return format!(
                "a page in row group {} does not have its checksum: the file was damaged",
                self.group
            );
        }
        self.reason()
    }
}

impl Task for Part {
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()> {
        let SharedFile { input, source, folders, positions, .. } = &*self.file;
        let path = input.name();
        let total = self.rows.len().max(1) as u64;
        let mut reader = guarded(path, || self.reader())?;
        let (mut done, mut worked) = (0, 0);
        while let Some(batch) = guarded(path, || Ok(reader.next()))? {
            let batch = batch.map_err(|e| super::reason::arrow_failed(path, &e, &self.reason_of(&e)))?;
            let batch = folders.beside(batch).map_err(|_| NO_COLUMNS)?;
            let first_row = self.first_row + done;
            done += batch.num_rows() as u64;
            let work = self.work * done / total - worked;
            worked += work;
            let (users, items) = positions.columns(&batch);
            emit(Chunk { users, items, source: Arc::clone(source), first_row, work })?;
        }
        if done == self.rows.len() as u64 {
            return Ok(());
        }
        let reason = format!("row group {} does not have as many rows as the file states", self.group);
        Err(unreadable(path, reason))
    }
}
