//! Columns that names of folders tell, such as `year=2026/`.
//!
//! Their values are text: a type that followed from the names would follow from which folders there are.

use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use dpsel_exact::error::quoted;
use dpsel_exact::{Error, Result};

use super::reason::unreadable;

/// What tools write for a missing value.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// The needed columns that the folders of one file tell, with their value.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderColumns(Vec<(String, Option<String>)>);

impl FolderColumns {
    /// The needed columns that folders name, from the given path on.
    ///
    /// Folders above it name none, apart from an unbroken row of such folders that ends with it: `rows/year=1` is the same
    /// part of a table, whether `rows` or this folder is given.
    ///
    /// # Errors
    /// [`Error::Schema`] if two folders name one of the columns; [`Error::File`] for a value that is not UTF-8.
    pub(super) fn of(file: &Path, given: &Path, is_needed: impl Fn(&str) -> bool) -> Result<Self> {
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        for part in parts_below(file, given) {
            let Some((name, value)) = part.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                continue;
            };
            if !is_needed(name) {
                continue;
            }
            if found.iter().any(|(other, _)| other == name) {
                return Err(Error::Schema {
                    what: "two folders of one path name the same column".into(),
                    fix: "rename one of them".into(),
                });
            }
            let not_text = || unreadable(file, "the name of a folder stands for a value that is not UTF-8");
            let value = if value == MISSING { None } else { Some(unescaped(value).ok_or_else(not_text)?) };
            found.push((name.to_owned(), value));
        }
        Ok(Self(found))
    }

    /// Their names and values.
    pub(super) fn into_values(self) -> Vec<(String, Option<String>)> {
        self.0
    }

    /// Without the columns of the file itself, which are never taken from a folder.
    pub(super) fn without(mut self, schema: &Schema) -> Self {
        self.0.retain(|(name, _)| schema.fields().iter().all(|field| field.name() != name));
        self
    }

    /// The schema of a file with these columns behind its own.
    pub(super) fn behind(&self, schema: &Schema) -> Schema {
        let own = schema.fields().iter().cloned();
        let told = self.0.iter().map(|(name, _)| Arc::new(Field::new(name, DataType::Utf8, true)));
        Schema::new_with_metadata(own.chain(told).collect::<Vec<_>>(), schema.metadata().clone())
    }

    /// A batch with these columns behind its own.
    ///
    /// # Errors
    /// [`ArrowError`] never in practice: all columns have the length of the batch.
    pub(super) fn beside(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        if self.0.is_empty() {
            return Ok(batch);
        }
        let (rows, mut fields) = (batch.num_rows(), batch.schema().fields().to_vec());
        let mut columns = batch.columns().to_vec();
        for (name, value) in &self.0 {
            let column = repeated(value.as_deref(), rows)?;
            fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }

    /// Refuses a file whose folders tell other columns than those of the first file: one column would mean two things.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub(super) fn check_same(&self, first: &Self) -> Result<()> {
        self.check_within(first)?;
        first.check_within(self)
    }

    /// As [`Self::check_same`], but others may tell more.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub(super) fn check_within(&self, others: &Self) -> Result<()> {
        let missing = self.0.iter().find(|(name, _)| others.0.iter().all(|(other, _)| other != name));
        match missing {
            None => Ok(()),
            Some((name, _)) => Err(Error::Schema {
                what: format!("column {} is named by some folders or files and not by all", quoted(name)),
                fix: "give every file the column, or every file a folder that names it".into(),
            }),
        }
    }
}

/// A column of one value.
fn repeated(value: Option<&str>, rows: usize) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::from(vec![value.map(|_| 0); rows]);
    let values: ArrayRef = Arc::new(StringArray::from_iter(value.map(Some)));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
}

/// The names of the folders between the given path and a file that it names.
fn parts_below(file: &Path, given: &Path) -> Vec<String> {
    let (Ok(mut root), Ok(file)) = (absolute(folder_of(given)), absolute(file)) else { return Vec::new() };
    let is_column = |folder: &Path| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().find('=').is_some_and(|at| at > 0))
    };
    while is_column(&root) && root.pop() {}
    let below = file.parent().and_then(|folder| folder.strip_prefix(&root).ok());
    below.into_iter().flatten().filter_map(|part| part.to_str().map(str::to_owned)).collect()
}

/// The folder that a path starts from: itself, that of a file, or what stands before a pattern.
fn folder_of(given: &Path) -> PathBuf {
    let found = given.ancestors().find(|folder| folder.is_dir());
    match found {
        Some(folder) if folder.components().next().is_some() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// A value without the escapes `%2F` that tools write for some characters; `None` if it is not UTF-8.
fn unescaped(text: &str) -> Option<String> {
    let (bytes, mut at, mut plain) = (text.as_bytes(), 0, Vec::new());
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let escaped =
            digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                plain.push(escaped);
                at += 3;
            }
            (byte, _) => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_bytes_and_all_else_for_itself() {
        assert_eq!(unescaped("a%2Fb%20%C3%A9").as_deref(), Some("a/b é"));
        for plain in ["", "%", "100%", "%2", "%zz", "%+1", "é%"] {
            assert_eq!(unescaped(plain).as_deref(), Some(plain));
        }
        assert_eq!(unescaped("%FF"), None);
    }
}
