//! What a release checks before it reads a row: its number, and the columns of its table.

use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{ColumnLayout, Columns, OpenSource, Source};
use dpsel_rows::runtime::Control;

/// What a state knows of columns: their names and their types, which this release may widen.
#[derive(Debug)]
pub(super) struct Known<'a> {
    /// The number of releases so far.
    pub(super) release: u32,
    pub(super) columns: &'a mut String,
    pub(super) types: &'a mut String,
}

/// Refuse a release beyond the last one.
///
/// # Errors
/// [`Error::Incompatible`].
pub(super) fn refuse_another(made: u32, releases: u32) -> Result<()> {
    if made < releases {
        return Ok(());
    }
    Err(Error::Incompatible {
        what: format!("the series has had all its releases, which are {releases}"),
        fix: "begin a new series, which costs anew",
    })
}

/// Open the source, and compare its columns with those of the releases before.
///
/// # Errors
/// [`Error::Incompatible`] for other columns; [`Error::Schema`] for other types; those of the source.
pub(super) fn open(
    known: &mut Known<'_>,
    source: Source,
    columns: &Columns,
    control: &Control,
) -> Result<OpenSource> {
    if columns.levels.is_some() {
        return Err(Error::Incompatible {
            what: "a series does not take levels=".into(),
            fix: "leave it out, or make one release with select_partitions",
        });
    }
    let text = serde_json::to_string(columns).map_err(|_| Error::Internal("columns do not serialise"))?;
    if known.release > 0 && text != *known.columns {
        return Err(Error::Incompatible {
            what: "the columns are not those of the releases before".into(),
            fix: "name the same columns in every release of a series, with the same ngrams=",
        });
    }
    let source = OpenSource::open(source, columns, control)?;
    let mut layout = source.layout().clone();
    if known.release > 0 {
        layout = layout.after(ColumnLayout::from_text(known.types, columns)?)?;
    }
    (*known.columns, *known.types) = (text, layout.to_text()?);
    Ok(source)
}
