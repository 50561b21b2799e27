//! Records of NDJSON, copied as they are written.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use dpsel_exact::{Error, Result};

use super::column::ColumnBuilder;
use super::{BATCH, Lines, append, empty, infer, record};
use crate::ingest::files::filter::{FilteredPiece, RowOutput};
use crate::ingest::files::input::Input;
use crate::ingest::files::reason::guarded;
use crate::ingest::layout::Role;

/// Copy the records of one file.
pub(in crate::ingest::files) fn filter(input: &Input, rows: &mut RowOutput<'_>) -> Result<()> {
    let (source, names) = (input.source(), &rows.filter.columns);
    let types = infer(input, &source, &vec![Role::Item; names.len()], names)?;
    let fields = names.iter().zip(&types).map(|(name, kind)| Field::new(name, kind.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    rows.check(&schema)?;
    let mut lines = Lines::new(input.read()?, input, &source)?;
    loop {
        let (mut piece, mut columns) = (FilteredPiece::default(), empty(&types)?);
        guarded(input.name(), || fill(&mut lines, rows, &mut piece, &mut columns))?;
        if piece.ends.is_empty() {
            return Ok(());
        }
        let arrays = columns.into_iter().map(ColumnBuilder::finish).collect::<Result<_>>()?;
        let items = RecordBatch::try_new(Arc::clone(&schema), arrays);
        let items = items.map_err(|_| Error::Internal("the columns of NDJSON cannot be built"))?;
        rows.write(&piece, &items, rows.filter.labels.as_deref())?;
    }
}

/// Collect up to one batch of records.
fn fill(
    lines: &mut Lines,
    rows: &RowOutput<'_>,
    piece: &mut FilteredPiece,
    columns: &mut [ColumnBuilder],
) -> Result<()> {
    while piece.ends.len() < BATCH && lines.advance()? {
        let names = &rows.filter.columns;
        append(lines, names, columns)?;
        let mark = lines.line.len() - lines.unmarked().len();
        let found: Vec<Range<usize>> = match rows.filter.labels {
            Some(_) => record::places(lines.unmarked(), names).map_err(|()| lines.malformed())?,
            None => Vec::new(),
        };
        piece.push(&lines.line[mark..], found.into_iter());
    }
    Ok(())
}
