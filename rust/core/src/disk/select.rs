//! Partition selection: in memory if the rows fit, and on the disk if not.

use std::sync::Arc;

use super::divide::divided;
use super::memory::{LEAST, Memory};
use super::names::Lookup;
use super::reading::{Read, Rows, StoredRows, TakenOut, Wanted};
use super::rounds::Rounds;
use super::stages::Stages;
use crate::contributions::RowOrder;
use crate::error::quoted_path;
use crate::exchange::{Beyond, Decisions, Possible, Selection};
use crate::ingest::{ItemSchema, OpenSource, Source, again};
use crate::random::ReleaseKey;
use crate::runtime::{Control, PHASES};
use crate::scratch::{Scratch, ScratchSpace, Stored};
use crate::task::{
    self, PublicLists, Release, Request, SelectRequest, after_a_look, most_rounds, release_of,
};
use crate::{Error, Result, Size};

/// Refuse settings with which the disk engine cannot run, before any row is read.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism that has no stages, or without a memory limit; [`Error::InvalidParameter`]
/// for a memory limit below [`LEAST`] or a path that is no folder.
pub fn check(request: &Request, memory_limit: Option<u64>, space: &ScratchSpace) -> Result<()> {
    match request {
        Request::Select(request) => {
            Possible::checked(request, Beyond::Disk)?;
        }
        Request::Count(_) | Request::TopK(_) => {}
    }
    let Some(limit) = memory_limit else {
        return Err(Error::Incompatible {
            what: "scratch= takes the rows beyond memory_limit=, which is not given".into(),
            fix: "give memory_limit=, such as half of the memory that is free",
        });
    };
    if limit < LEAST {
        let rule = "at least 64 MiB with scratch=";
        return Err(Error::parameter("memory_limit", rule, Size(limit), "raise it, or leave scratch= out"));
    }
    if space.folder.is_dir() {
        return Ok(());
    }
    let rule = "a folder that exists";
    Err(Error::parameter("scratch", rule, quoted_path(&space.folder), "make it, or name another one"))
}

/// Whether a job can work from the disk, within a memory limit if one is given.
#[must_use]
pub fn can_work(request: &Request, memory_limit: Option<u64>) -> bool {
    let runs = match request {
        Request::Select(request) => Possible::checked(request, Beyond::Disk).is_ok(),
        Request::Count(_) | Request::TopK(_) => true,
    };
    runs && memory_limit.is_none_or(|limit| limit >= LEAST)
}

/// As [`task::select_partitions`]. Rows that exceed the memory limit go to scratch, and the release is the same.
///
/// Without a memory limit nothing goes to scratch.
///
/// # Errors
/// See [`crate::Error`].
pub fn select_partitions(
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
    control: &Control,
    space: ScratchSpace,
) -> Result<Release> {
    let Some(limit) = control.memory_limit() else {
        Possible::checked(request, Beyond::Disk)?;
        return task::select_partitions(source, request, key, control);
    };
    Stages::within(limit, control, |stages| select_within(source, request, key, stages, space))
}

/// Select with a given division of the memory.
pub(super) fn select_within(
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
    stages: Stages<'_>,
    space: ScratchSpace,
) -> Result<Release> {
    let possible = Possible::checked(request, Beyond::Disk)?;
    let (control, scratch) = (stages.control, Scratch::new(space)?);
    control.plan(PHASES, most_rounds(request)?);
    let again = again(&source, control)?;
    let opened = OpenSource::open(source, &request.columns, control)?;
    let (schema, lists) = (opened.layout().item_schema()?, PublicLists::read(opened.layout(), request, key)?);
    let wanted = Wanted {
        counts: true,
        names: again.is_none() && schema.integer_kind().is_none(),
        taken_out: match (lists.remove_items(), request.counts.is_some()) {
            (false, _) => TakenOut::Nothing,
            (true, false) => TakenOut::Rest,
            (true, true) => TakenOut::RestAndAll,
        },
    };
    let rows = Rows::new(key, stages, &scratch, wanted)?;
    let order = request.read_order(&RowOrder::Any);
    let later = possible.bytes_beside_rows(lists.public_digests().len(), control);
    match rows.read(opened, (schema.clone(), order.clone()), &later, |rows| lists.remove_from(rows))? {
        Read::Stored(rows) => {
            let asked = Asked { request, lists: &lists, order, key, schema: &schema };
            asked.release(rows, again, stages, &scratch)
        }
        Read::InMemory(contributions) => {
            release_of((contributions, &RowOrder::Any), &lists, request, key, control)
        }
    }
}

/// What is asked for, when all rows are in scratch.
struct Asked<'a> {
    request: &'a SelectRequest,
    lists: &'a PublicLists,
    order: RowOrder,
    key: &'a ReleaseKey,
    schema: &'a ItemSchema,
}

impl Asked<'_> {
    fn release(
        self,
        rows: StoredRows,
        again: Option<Source>,
        stages: Stages<'_>,
        scratch: &Scratch,
    ) -> Result<Release> {
        let Self { request, lists, order, key, schema } = self;
        let StoredRows { contributions, held, counts, names } = rows;
        // Counting gathers the rows of whole partitions into tables, and has rows of its own where some were taken out.
        let gathers = request.counts.is_some() && held.is_none();
        let needed = if gathers { Memory::divided } else { Memory::divided_slightly };
        let (contributions, stages) = divided(contributions, (&order, needed), key, stages, scratch)?;
        let held = held
            .map(|held| {
                let gathered = (&order, Memory::divided);
                divided(held, gathered, key, stages, scratch).map(|(held, _)| held)
            })
            .transpose()?;
        let contributions = Arc::new(contributions);
        let asked = after_a_look(request, key, |sizes| stages.users_by_size(&contributions, sizes, key))?;
        let selection = Selection::of(asked.clone(), key.clone())?;
        let job = selection.job().clone().with_sizes(stages.memory.sizes);
        // Without counts nobody needs the rows after the rounds.
        let held = held.map(Arc::new).or_else(|| request.counts.map(|_| Arc::clone(&contributions)));
        let rounds = Rounds { job: &job, stages, scratch };
        let decided = rounds.decided(contributions, counts)?;
        let released = Decisions::unpack(decided.bytes())?;
        let public = lists.public_digests();
        let items = released.iter().map(|(item, _)| item).chain(public.iter().copied());
        let count = |held: Arc<Stored>| rounds.noisy_counts(&held, &items.collect::<Vec<_>>());
        let numbers = held.map(count).transpose()?;
        let lookup = Lookup { schema, columns: &request.columns, key, control: stages.control };
        let (digests, items) = lookup.items(&released, again, names.as_ref())?;
        let Release { items, report } =
            selection.publish_items(&digests, &items, released, numbers.as_ref())?;
        let of_public = selection.published(&public, numbers.as_ref())?;
        Ok(Release { items: lists.beside(items, of_public.as_deref(), key)?, report })
    }
}
