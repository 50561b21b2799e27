//! What a release checks before it reads a row: its number, and the columns of its table.

use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{ColumnLayout, Columns, OpenSource, Source};
use dpsel_rows::runtime::Control;
use zeroize::Zeroizing;

use super::state::{Kept, Planned, State};

/// The state before the next release, and its rows, not read yet; `bytes` are none before the first release.
///
/// # Errors
/// [`Error::Data`] for a state that is none; [`Error::Incompatible`] if there is no further release, or for other
/// columns; [`Error::Schema`] for other types; those of the source.
pub(super) fn begin<K: Kept>(
    (plan, secret): (&K::Plan, &ReleaseKey),
    bytes: Option<Zeroizing<Vec<u8>>>,
    (source, columns): (Source, &Columns),
    control: &Control,
) -> Result<(State<K>, OpenSource)> {
    let state = bytes.map(|bytes| State::from_bytes(&bytes, plan, secret)).transpose()?;
    let mut state = state.unwrap_or_default(); // Otherwise: it is the first release.
    refuse_another(state.release, plan.releases())?;
    let source = open(&mut state, source, columns, control)?;
    Ok((state, source))
}

/// Refuse a release beyond the last one.
///
/// # Errors
/// [`Error::Incompatible`].
fn refuse_another(made: u32, releases: u32) -> Result<()> {
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
fn open<K>(state: &mut State<K>, source: Source, columns: &Columns, control: &Control) -> Result<OpenSource> {
    if columns.levels.is_some() {
        return Err(Error::Incompatible {
            what: "a series does not take levels=".into(),
            fix: "leave it out, or make one release with select_partitions",
        });
    }
    let text = serde_json::to_string(columns).map_err(|_| Error::Internal("columns do not serialise"))?;
    if state.release > 0 && text != state.columns {
        return Err(Error::Incompatible {
            what: "the columns are not those of the releases before".into(),
            fix: "name the same columns in every release of a series",
        });
    }
    let source = OpenSource::open(source, columns, control)?;
    let mut layout = source.layout().clone();
    if state.release > 0 {
        layout = layout.after(ColumnLayout::from_text(&state.types, columns)?)?;
    }
    (state.columns, state.types) = (text, layout.to_text()?);
    Ok(source)
}
