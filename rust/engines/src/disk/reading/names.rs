//! The names of released items: read a second time in files, or put into scratch with the rows of a stream. The digest of a
//! short name tells it, so only longer ones are put there.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use dpsel_core::task::{Found, PublicLists};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{ItemCode, Vocabulary, read_closed};
use dpsel_rows::ingest::{
    Code, Columns, ItemSchema, Key, KeyStore, OpenSource, Payload, Side, Sink, Source, UserCode,
};
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::{Stored, Writer};

use crate::exchange::{ReleasedSet, in_order, of_digests};

/// Bytes of names in one block of scratch.
const BLOCK: usize = 1 << 18;

const DAMAGED: Error = Error::Internal("names in scratch are damaged");

/// What finds the names of released items.
pub(in crate::disk) struct Lookup<'a> {
    pub(in crate::disk) schema: ItemSchema,
    pub(in crate::disk) columns: &'a Columns,
    pub(in crate::disk) key: &'a ReleaseKey,
    pub(in crate::disk) control: &'a Control,
    /// The source, if it can be read again.
    pub(in crate::disk) again: Option<Source>,
    /// The names of all items, if they are in scratch.
    pub(in crate::disk) names: Option<Stored>,
    /// The names of the released items and those above them, if they are known.
    pub(in crate::disk) known: Option<(Vec<Digest>, RecordBatch)>,
}

impl Lookup<'_> {
    /// Columns of these items, in their order: from scratch, from a second read of files, or from their digests.
    ///
    /// # Errors
    /// As for the first read; [`Error::File`] if scratch cannot be read; [`Error::Source`] if files have other items now;
    /// an interruption.
    pub(in crate::disk) fn into_items(mut self, items: &[Digest]) -> Result<RecordBatch> {
        self.known.take().map_or_else(|| self.items(items), |known| in_order(items, known))
    }

    /// These items and all above them, without those of a list. Their names are known then.
    ///
    /// # Errors
    /// As [`Lookup::into_items`].
    pub(in crate::disk) fn close(&mut self, items: &[Digest], lists: &PublicLists) -> Result<Found> {
        let apart = Control::new(self.control.threads().try_into().ok(), None);
        let named = read_closed(self.items(items)?, self.columns, self.key, &apart)?;
        let known = named.named(|item| !lists.have(item), self.key)?;
        let found = Found::by_digest(known.0.iter().map(|item| (*item, 0)));
        self.known = Some(known);
        Ok(found)
    }

    fn items(&mut self, items: &[Digest]) -> Result<RecordBatch> {
        let Self { schema, columns, key, control, again, names, .. } = self;
        let wanted = ReleasedSet::list(items);
        let names = match (names.take(), again.take()) {
            (Some(names), _) => names_in_scratch(&names, items, &wanted, control)?,
            (None, Some(files)) if schema.integer_kind().is_none() => {
                names_in_files(files, columns, &wanted, key, control)?
            }
            (None, Some(_) | None) => return of_digests(items, schema, key),
        };
        let found = names.decode(schema, key)?;
        in_order(items, (names.digests, found))
    }
}

/// The keys of released items, each once.
#[derive(Debug, Default)]
struct Names {
    digests: Vec<Digest>,
    keys: KeyStore,
    seen: HashSet<Digest>,
}

impl Names {
    /// Add the key of an item, unless it is known.
    fn add(&mut self, item: Digest, append: impl FnOnce(&mut KeyStore)) {
        if self.seen.insert(item) {
            self.digests.push(item);
            append(&mut self.keys);
        }
    }

    /// The items, in the order of their digests here.
    ///
    /// # Errors
    /// [`Error::Internal`] if they do not have this schema.
    fn decode(&self, schema: &ItemSchema, key: &ReleaseKey) -> Result<RecordBatch> {
        let keys = self.digests.iter().enumerate();
        schema.decode(keys.map(|(at, digest)| Key { digest: *digest, long: self.keys.get(at) }), key)
    }
}

/// Put the names that digests do not tell into scratch, of all items of a vocabulary: digest, length and bytes of each.
///
/// # Errors
/// [`Error::File`] if scratch is full.
pub(super) fn spool_names(vocabulary: &Vocabulary, mut writer: Writer<'_>) -> Result<()> {
    let mut block = Vec::new();
    let digests = vocabulary.digests_from(0..vocabulary.code_bound()).into_iter().enumerate();
    for (code, item) in digests.filter(|(_, item)| *item != Digest::default()) {
        let Some(name) = vocabulary.key(ItemCode::from_index(code)).long else { continue };
        block.extend(item.0.to_le_bytes());
        block.extend((name.len() as u64).to_le_bytes());
        block.extend(name);
        if block.len() >= BLOCK {
            writer.push(0, &block)?;
            block.clear();
        }
    }
    writer.push(0, &block)?;
    writer.flush()
}

/// Find the names of released items in scratch, or leave them to their digests.
///
/// # Errors
/// [`Error::File`] if scratch cannot be read; an interruption.
fn names_in_scratch(
    stored: &Stored,
    items: &[Digest],
    wanted: &ReleasedSet,
    control: &Control,
) -> Result<Names> {
    let (mut names, mut block) = (Names::default(), Vec::new());
    for at in 0..stored.values().len() {
        control.check()?;
        stored.read(at, &mut block)?;
        let mut rest = block.as_slice();
        while !rest.is_empty() {
            let (item, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
            let (len, tail) = tail.split_first_chunk().ok_or(DAMAGED)?;
            let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| DAMAGED)?;
            let (name, tail) = tail.split_at_checked(len).ok_or(DAMAGED)?;
            let item = Digest(u128::from_le_bytes(*item));
            if wanted.contains(item) {
                names.add(item, |keys| keys.extend_bytes(std::iter::once(name)));
            }
            rest = tail;
        }
    }
    for item in items {
        names.add(*item, |keys| keys.extend_bytes(std::iter::once([].as_slice())));
    }
    Ok(names)
}

/// Read files once more, for the names of released items.
///
/// # Errors
/// As for the first read.
fn names_in_files(
    source: Source,
    columns: &Columns,
    wanted: &ReleasedSet,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Names> {
    // The progress of the job is not that of a second read.
    let apart = Control::new(control.threads().try_into().ok(), None);
    let source = OpenSource::open(source, columns, &apart)?;
    let found = Mutex::new(Names::default());
    source.deliver(key, &apart, || Finder { wanted, found: &found, control, rows: Vec::new() })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Takes the keys of released items from rows, and gives no codes.
struct Finder<'a> {
    wanted: &'a ReleasedSet,
    found: &'a Mutex<Names>,
    control: &'a Control,
    rows: Vec<usize>,
}

impl Sink for Finder<'_> {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        codes.resize(codes.len() + digests.len(), C::default());
        if C::SIDE == Side::User {
            return Ok(());
        }
        self.rows.clear();
        self.rows.extend((0..digests.len()).filter(|row| self.wanted.contains(digests[*row])));
        if !self.rows.is_empty() {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            for &row in &self.rows {
                found.add(digests[row], |keys| payload.append_to(std::iter::once(row), keys));
            }
        }
        Ok(())
    }

    fn push(&mut self, _users: &[UserCode], _lens: Option<&[u32]>, _items: &[ItemCode]) -> Result<()> {
        self.control.check()
    }
}
