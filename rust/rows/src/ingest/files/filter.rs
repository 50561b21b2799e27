//! Rows of text files whose item is one of a set, copied as they are written. With labels all rows are copied, and the
//! items that are not in the set are replaced.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use dpsel_exact::{Error, Result};

use super::file_list::FileList;
use super::input::Input;
use super::reason::{io_reason, unreadable};
use super::{csv, ndjson};
use crate::ingest::public::Members;
use crate::ingest::source::{Dialect, FileFormat};
use crate::runtime::Control;

/// Which rows of text files are copied.
#[derive(Debug)]
pub struct RowFilter<'a> {
    /// The items that stay.
    pub members: &'a Members,
    /// The columns of the item.
    pub columns: Vec<String>,
    /// What stands in place of other items, one for each column: text, or JSON for files of JSON.
    pub labels: Option<Vec<String>>,
    /// The name of the output in errors.
    pub target: &'a Path,
}

/// Where rows go.
pub(super) struct RowOutput<'a> {
    pub(super) filter: &'a RowFilter<'a>,
    pub(super) control: &'a Control,
    out: &'a mut dyn Write,
    /// The line end of the last record that had one.
    line_end: &'static [u8],
    /// The names of the columns in the first file.
    names: Option<Vec<String>>,
}

/// Some records as they are written, and their items.
#[derive(Default)]
pub(super) struct FilteredPiece {
    pub(super) text: Vec<u8>,
    /// Where each record ends.
    pub(super) ends: Vec<usize>,
    /// Where the item columns of each record stand, if there are labels.
    pub(super) fields: Vec<Range<usize>>,
}

impl FilteredPiece {
    pub(super) fn push(&mut self, record: &[u8], fields: impl Iterator<Item = Range<usize>>) {
        let start = self.text.len();
        self.fields.extend(fields.map(|field| start + field.start..start + field.end));
        self.text.extend_from_slice(record);
        self.ends.push(self.text.len());
    }
}

/// Copy the rows of all files.
pub(in crate::ingest) fn filter(
    list: FileList<'_>,
    filter: &RowFilter<'_>,
    control: &Control,
    out: &mut dyn Write,
) -> Result<()> {
    let mut rows = RowOutput { filter, control, out, line_end: b"\n", names: None };
    let mut first: Option<FileFormat> = None;
    for (input, format) in list.expand(control)? {
        if *first.get_or_insert(format) != format {
            return Err(unreadable(
                input.name(),
                "files of two formats make no file of rows; filter them apart",
            ));
        }
        match format {
            FileFormat::Csv(dialect) => csv::filter(&input, dialect, &mut rows)?,
            FileFormat::NdJson => ndjson::filter(&input, &mut rows)?,
            FileFormat::Parquet | FileFormat::Ipc => {
                return Err(Error::Internal("rows of a file that is not text are filtered elsewhere"));
            }
        }
    }
    Ok(())
}

impl RowOutput<'_> {
    /// Refuse columns that could hold none of the items.
    pub(super) fn check(&self, schema: &Arc<Schema>) -> Result<()> {
        self.filter.members.rows(&RecordBatch::new_empty(Arc::clone(schema))).map(drop)
    }

    /// Write the header line of the first file. The others must have the same columns.
    pub(super) fn header(
        &mut self,
        names: &[String],
        line: &[u8],
        dialect: Dialect,
        input: &Input,
    ) -> Result<()> {
        match &self.names {
            None => {
                self.names = Some(names.to_vec());
                if dialect.header { self.write_line(line) } else { Ok(()) }
            }
            Some(first) if first == names => Ok(()),
            Some(_) => Err(Error::Schema {
                what: format!(
                    "{} has other columns than the first file, or in another order",
                    input.name().display()
                ),
                fix: "filter these files apart".into(),
            }),
        }
    }

    /// Write the rows of a piece that stay, and all others with labels, if there are any.
    pub(super) fn write(
        &mut self,
        piece: &FilteredPiece,
        items: &RecordBatch,
        labels: Option<&[String]>,
    ) -> Result<()> {
        self.control.check()?;
        let marks = self.filter.members.rows(items)?;
        let width = items.num_columns();
        let mut start = 0;
        for (row, (&end, mark)) in piece.ends.iter().zip(marks).enumerate() {
            match (mark, labels) {
                (Some(true), _) | (None, Some(_)) => self.write_line(&piece.text[start..end])?,
                (Some(false), Some(labels)) => {
                    let fields = piece.fields.get(row * width..(row + 1) * width);
                    let fields = fields.ok_or(Error::Internal("a row has not the fields of its item"))?;
                    let line = labelled(&piece.text, start..end, fields, labels);
                    self.write_line(&line)?;
                }
                (Some(false) | None, None) => {}
            }
            start = end;
        }
        Ok(())
    }

    /// Write a line. If it lacks its end, as the last one of a file may, it gets that of the line before it.
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        let is_whole = line.ends_with(b"\n");
        if is_whole {
            self.line_end = if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
        }
        let written = self.out.write_all(line);
        let written =
            if is_whole { written } else { written.and_then(|()| self.out.write_all(self.line_end)) };
        written.map_err(|error| Error::File {
            action: "write",
            path: self.filter.target.to_owned(),
            reason: io_reason(&error),
        })
    }
}

/// A record with labels in place of the fields.
fn labelled(text: &[u8], record: Range<usize>, fields: &[Range<usize>], labels: &[String]) -> Vec<u8> {
    let mut replaced: Vec<_> = fields.iter().zip(labels).collect();
    replaced.sort_by_key(|(field, _)| field.start);
    let (mut line, mut at) = (Vec::new(), record.start);
    for (field, label) in replaced {
        line.extend_from_slice(&text[at..field.start]);
        line.extend_from_slice(label.as_bytes());
        at = field.end;
    }
    line.extend_from_slice(&text[at..record.end]);
    line
}

/// A schema of item columns of text.
pub(super) fn of_texts(names: &[String]) -> Arc<Schema> {
    let fields = names.iter().map(|name| arrow_schema::Field::new(name, DataType::Utf8, true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
