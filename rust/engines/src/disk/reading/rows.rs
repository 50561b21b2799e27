//! Rows on their way to scratch.

use std::ops::Range;

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{
    Contributions, Later, RowOrder, SpillingBuilder, UnindexedRows, UnindexedWay,
};
use dpsel_rows::ingest::{ItemSchema, NGrams, OpenSource};
use dpsel_rows::runtime::{Control, parallel};
use dpsel_rows::scratch::{Scratch, Spool, Stored};

use super::census::Census;
use super::direct_rows::DirectRows;
use super::names::spool_names;
use crate::disk::threads::{ByBucket, Stages};
use crate::exchange::{Buckets, Dictionaries, Lister, Packing};

/// What is kept beside the rows.
#[derive(Debug, Clone, Copy)]
pub(in crate::disk) struct Wanted {
    /// User counts.
    pub(in crate::disk) counts: bool,
    /// Names of items.
    pub(in crate::disk) names: bool,
    /// Items that `prepare` takes out of the rows.
    pub(in crate::disk) taken_out: TakenOut,
    /// Whether items stand above others.
    pub(in crate::disk) lines: bool,
    /// The n-grams that are items, if those inside one stand above it.
    pub(in crate::disk) parts: Option<NGrams>,
}

/// Which rows are kept where items are taken out of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::disk) enum TakenOut {
    /// No item is taken out.
    Nothing,
    /// The rows without these items.
    Rest,
    /// These, and the rows as they were.
    RestAndAll,
}

/// What was read.
pub(in crate::disk) enum Read {
    /// Everything fits into memory, as it was read.
    InMemory(Contributions),
    /// Everything is in scratch.
    Stored(StoredRows),
}

/// Where rows go, and what is counted and noted of them on the way.
pub(in crate::disk) struct RowSink<'a> {
    key: &'a ReleaseKey,
    stages: Stages<'a>,
    buckets: Buckets,
    contributions: Spool,
    /// The same before any item was taken out, if asked for.
    held: Option<Spool>,
    counts: Option<Spool>,
    names: Option<Spool>,
    prepared: bool,
    lines: bool,
    parts: Option<NGrams>,
}

/// All rows of a table, in scratch.
pub(in crate::disk) struct StoredRows {
    /// Packed contributions by bucket of users.
    pub(in crate::disk) contributions: Stored,
    /// The same before any item was taken out, if asked for.
    pub(in crate::disk) held: Option<Stored>,
    /// User counts by bucket of item hashes, if they help.
    pub(in crate::disk) counts: Option<Stored>,
    /// The names of all items, if they cannot be found otherwise.
    pub(in crate::disk) names: Option<Stored>,
}

impl<'a> RowSink<'a> {
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the folder takes no file.
    pub(in crate::disk) fn new(
        key: &'a ReleaseKey,
        stages: Stages<'a>,
        scratch: &Scratch,
        wanted: Wanted,
    ) -> Result<Self> {
        if stages.memory.is_small() {
            stages.control.use_small_pages();
        }
        let spool = |wanted: bool| wanted.then(|| Spool::new(scratch)).transpose();
        Ok(Self {
            key,
            stages,
            buckets: Buckets::new(stages.memory.buckets)?,
            contributions: Spool::new(scratch)?,
            held: spool(wanted.taken_out == TakenOut::RestAndAll)?,
            counts: spool(wanted.counts)?,
            names: spool(wanted.names)?,
            prepared: wanted.taken_out != TakenOut::Nothing,
            lines: wanted.lines,
            parts: wanted.parts,
        })
    }

    /// Read a source. Rows stay in memory if that suffices for them and for what comes `later`. `prepare` takes out of rows
    /// that go to scratch what never counts, and then what rounds do not see.
    ///
    /// # Errors
    /// Those of the source; [`dpsel_exact::Error::File`] if scratch is full; an interruption.
    pub(in crate::disk) fn read(
        self,
        source: OpenSource,
        (schema, order): (ItemSchema, RowOrder),
        later: &Later<'_>,
        prepare: &(impl Fn(&mut Contributions) + Sync, impl Fn(&mut Contributions) + Sync),
    ) -> Result<Read> {
        let (control, key) = (self.stages.control, self.key);
        let spill = |mut contributions: Contributions| {
            control.go_to_disk();
            // The table was small enough for that, whatever its limit is.
            let apart = Control::new(control.threads().try_into().ok(), None);
            contributions.find_nodes(key, &apart)?;
            prepare.0(&mut contributions);
            self.held.as_ref().map_or(Ok(()), |held| self.pack(&contributions, held))?;
            prepare.1(&mut contributions);
            self.parts.map_or(Ok(()), |ngrams| contributions.find_parts(ngrams, key, &apart))?;
            self.take(&contributions)
        };
        // Names, lists and lines need a table of the items, and other orders all rows of a user.
        let begin = || self.straight();
        let is_plain =
            self.names.is_none() && !self.prepared && !self.lines && matches!(order, RowOrder::Any);
        let straight = is_plain.then_some(UnindexedWay { rows: self.stages.memory.straight, begin: &begin });
        let rows = (source.known_rows(), key, control);
        // To find what stands above items takes up to twice as much as they do.
        let table = self.stages.memory.table / if self.lines { 3 } else { 1 };
        let builder = SpillingBuilder::new((schema, order), (table, later), rows, &spill, straight);
        source.deliver(key, control, || builder.worker())?;
        if let Some(mut contributions) = builder.finish()? {
            contributions.find_nodes(key, control)?;
            return Ok(Read::InMemory(contributions));
        }
        control.end_reading();
        Ok(Read::Stored(self.stored()))
    }

    /// Put rows into scratch. Users and items may come again.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if scratch is full; an interruption.
    fn take(&self, contributions: &Contributions) -> Result<()> {
        if let Some(names) = &self.names {
            spool_names(&contributions.vocabulary, self.stages.writer(names))?;
        }
        if let Some(mut census) = self.census() {
            census.count_table(contributions)?;
            census.end()?;
        }
        self.pack(contributions, &self.contributions)
    }

    /// What counts the users of items on one thread.
    fn census(&self) -> Option<Census<'_>> {
        self.counts.as_ref().map(|counts| Census::new(self.stages.writer(counts), self.buckets))
    }

    /// What takes the rows of one thread without a table.
    fn straight(&self) -> Box<dyn UnindexedRows + '_> {
        Box::new(DirectRows {
            stages: self.stages,
            buckets: self.buckets,
            dictionaries: Dictionaries::new(self.key),
            writer: self.stages.writer(&self.contributions),
            census: self.census(),
            lister: Lister::default(),
            packed: Vec::new(),
            in_order: ByBucket::default(),
        })
    }

    fn pack(&self, contributions: &Contributions, spool: &Spool) -> Result<()> {
        let packing = Packing::new(contributions, self.key, self.buckets);
        let threads = self.stages.memory.threads;
        let done = parallel::map(threads, split(packing.users(), threads), |users| {
            let mut writer = self.stages.writer(spool);
            packing.pack(users, |bucket, packed| {
                self.stages.control.check()?;
                writer.push(bucket, &packed)
            })?;
            writer.flush()
        });
        done.into_iter().collect()
    }

    /// All rows, when no more come.
    fn stored(self) -> StoredRows {
        StoredRows {
            contributions: self.contributions.stored(),
            held: self.held.map(Spool::stored),
            counts: self.counts.map(Spool::stored),
            names: self.names.map(Spool::stored),
        }
    }
}

/// Divide the numbers below `end` among some ranges of similar length.
fn split(end: usize, ranges: usize) -> Vec<Range<usize>> {
    (0..ranges).map(|n| end * n / ranges..end * (n + 1) / ranges).collect()
}
