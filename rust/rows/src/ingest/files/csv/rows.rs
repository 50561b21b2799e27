//! Rows of a text file, copied with their quotes.

use std::borrow::Cow;

use dpsel_exact::{Error, Result};

use super::grammar::Grammar;
use super::records::CsvRecords;
use super::{BATCH, BATCH_BYTES, Cells, names, unknown};
use crate::ingest::files::filter::{FilteredPiece, RowOutput, of_texts};
use crate::ingest::files::input::Input;
use crate::ingest::files::reason::unreadable;
use crate::ingest::layout::{Role, position};
use crate::ingest::source::Dialect;

/// Copy the rows of one file.
pub(in crate::ingest::files) fn filter(
    input: &Input,
    dialect: Dialect,
    rows: &mut RowOutput<'_>,
) -> Result<()> {
    let source = input.source();
    let labels = labels(rows, dialect)?;
    let mut records = CsvRecords::new(input.read()?, input, &source, dialect)?;
    if !records.advance()? {
        return Err(unreadable(input.name(), "the file is empty; its first line must hold the column names"));
    }
    let first = records.record()?;
    let names = names(&first, &source, dialect)?;
    let columns = &rows.filter.columns;
    if let Some(name) = columns.iter().find(|name| !names.contains(name)) {
        return Err(unknown(&source, names.len(), dialect, Role::Item, name));
    }
    let all = of_texts(&names);
    let wanted: Vec<usize> =
        columns.iter().map(|name| position(&all, Role::Item, name, &[], &source)).collect::<Result<_>>()?;
    let schema = of_texts(columns);
    rows.check(&schema)?;
    rows.header(&names, first.text.as_bytes(), dialect, input)?;
    let mut again = !dialect.header;
    loop {
        let (mut piece, mut cells) = (FilteredPiece::default(), Cells::new(&wanted));
        while piece.ends.len() < BATCH
            && piece.text.len() < BATCH_BYTES
            && (std::mem::take(&mut again) || records.advance()?)
        {
            let record = records.record()?;
            cells.push(&record)?;
            let fields =
                wanted.iter().filter_map(|&at| record.fields.get(at)).map(|field| field.start..field.end);
            piece.push(record.text.as_bytes(), fields);
        }
        if piece.ends.is_empty() {
            return Ok(());
        }
        rows.write(&piece, &cells.finish(&schema)?, labels.as_deref())?;
    }
}

/// The labels as fields.
fn labels(rows: &RowOutput<'_>, dialect: Dialect) -> Result<Option<Vec<String>>> {
    let grammar = Grammar::new(dialect);
    let Some(labels) = &rows.filter.labels else { return Ok(None) };
    let written = labels.iter().map(|label| {
        grammar.written(label).map(Cow::into_owned).ok_or_else(|| Error::Incompatible {
            what: "other has a delimiter or a line break, and the fields of the file are not quoted".into(),
            fix: "choose a text without them",
        })
    });
    written.collect::<Result<_>>().map(Some)
}
