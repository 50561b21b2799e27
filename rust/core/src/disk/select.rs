//! Partition selection: in memory if the rows fit, and on the disk if not.

use std::sync::Arc;

use super::divide::divided;
use super::memory::{LEAST, Memory};
use super::names::Lookup;
use super::reading::{Read, Rows, StoredRows, TakenOut, Wanted};
use super::rounds::{Rounds, Way};
use super::stages::Stages;
use crate::contributions::{RowOrder, Totals, row_order};
use crate::counting::Holdings;
use crate::exchange::{Decisions, Selection};
use crate::ingest::{ItemSchema, OpenSource, Source, again};
use crate::random::ReleaseKey;
use crate::rounds::{self, Calibration};
use crate::runtime::{Control, PHASES};
use crate::scratch::{Scratch, ScratchSpace, Stored};
use crate::task::{
    self, Calibrated, PublicLists, Release, Request, SelectRequest, after_a_look, most_rounds, release_of,
};
use crate::{Error, Result, Size};

/// Refuse settings with which the disk engine cannot run, before any row is read.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism that has no stages, or without a memory limit; [`Error::InvalidParameter`]
/// for a memory limit below [`LEAST`] or a path that is no folder.
pub fn check(request: &Request, memory_limit: Option<u64>, space: &ScratchSpace) -> Result<()> {
    match request {
        Request::Select(request) => check_mechanism(request)?,
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
    Err(Error::parameter("scratch", rule, space.folder.display(), "make it, or name another one"))
}

/// Refuse a mechanism that needs all rows in memory. If a look chooses the mechanism, both have to run: no row decides
/// whether there is an error.
fn check_mechanism(request: &SelectRequest) -> Result<()> {
    let (mut on_disk, mut in_memory) = (None, None);
    for request in request.possible()? {
        let name = request.mechanism.type_name();
        *(if way(&request)?.is_some() { &mut on_disk } else { &mut in_memory }) = Some(name);
    }
    match (on_disk, in_memory) {
        (_, None) => Ok(()),
        (Some(on_disk), Some(in_memory)) => Err(Error::Incompatible {
            what: format!(
                "scratch= does not work with a look that may choose {in_memory}, which needs {NEEDED}, but with \
                 {on_disk}, its other choice"
            ),
            fix: "name that one with its parameters as mechanism=, or leave scratch= out",
        }),
        (None, Some(in_memory)) => Err(Error::Incompatible {
            what: format!("scratch= does not work with {in_memory}, which needs {NEEDED}"),
            fix: "use another mechanism, such as Steered, or leave scratch= out",
        }),
    }
}

/// What a mechanism without a way needs (`docs/performance.md`).
const NEEDED: &str = "all rows in memory, about 17 bytes for each and 60 for each distinct item";

fn way(request: &SelectRequest) -> Result<Option<Way>> {
    Way::of(&request.calibrate_once()?)
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
    check_mechanism(request)?;
    let Some(limit) = control.memory_limit() else {
        return task::select_partitions(source, request, key, control);
    };
    select_within(source, request, key, Stages { memory: Memory::new(limit, control), control }, space)
}

/// Select with a given division of the memory.
pub(super) fn select_within(
    source: Source,
    request: &SelectRequest,
    key: &ReleaseKey,
    stages: Stages<'_>,
    space: ScratchSpace,
) -> Result<Release> {
    let (control, scratch) = (stages.control, Scratch::new(space)?);
    control.plan(PHASES, most_rounds(request)?);
    let again = again(&source, control)?;
    let opened = OpenSource::open(source, &request.columns, control)?;
    let (schema, lists) = (opened.layout().item_schema()?, PublicLists::read(&opened, request, key)?);
    let order = row_order(request.item_order()?, &request.columns, &opened, key)?;
    let wanted = Wanted {
        counts: counts_users(request, key)?,
        names: again.is_none() && schema.integer_kind().is_none(),
        taken_out: match (lists.remove_items(), request.counts.is_some()) {
            (false, _) => TakenOut::Nothing,
            (true, false) => TakenOut::Rest,
            (true, true) => TakenOut::RestAndAll,
        },
    };
    let rows = Rows::new(key, stages, &scratch, wanted)?;
    let read_order = request.read_order(&order);
    let later = beside_rows(request, &lists, control)?;
    match rows.read(opened, (schema.clone(), read_order), &later, |rows| lists.remove_from(rows))? {
        Read::Stored(rows) => {
            let asked = Asked { request, lists: &lists, order, key, schema: &schema };
            asked.release(rows, again, stages, &scratch)
        }
        Read::InMemory(contributions) => release_of((contributions, &order), &lists, request, key, control),
    }
}

/// The bytes that a release in memory takes beside its rows: those of the rounds and counts that it may have.
fn beside_rows<'a>(
    request: &'a SelectRequest,
    lists: &PublicLists,
    control: &'a Control,
) -> Result<impl Fn(Totals) -> usize + use<'a>> {
    let possible = request.possible()?.into_iter().map(|request| request.calibrate_once());
    let possible: Vec<Calibration> = possible.collect::<Result<_>>()?;
    let public = lists.public_digests().len();
    Ok(move |totals| {
        let Totals { users, codes, rows } = totals;
        let rounds = possible.iter().map(|calibration| rounds::bytes(calibration, totals, control));
        let rounds = rounds.max().unwrap_or(0); // Otherwise: no rounds.
        request.counts.map_or(rounds, |counts| {
            // Rounds give their memory back before items are counted.
            let sums = Holdings::bytes_of_sums(codes, codes + public, rows);
            Holdings::bytes(counts.limit(), users, rows) + rounds.max(sums)
        })
    })
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
        let read_order = request.read_order(&order);
        let needed = if gathers(request)? { Memory::divided } else { Memory::divided_slightly };
        let (contributions, stages) = divided(contributions, (&read_order, needed), key, stages, scratch)?;
        let held = held
            .map(|held| {
                let gathered = (&read_order, Memory::divided);
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
        let decided = rounds.decided(contributions, counts, order)?;
        let released = Decisions::unpack(decided.bytes())?;
        let public = lists.public_digests();
        let items = released.iter().map(|(item, _)| item).chain(public.iter().copied());
        let count = |held: Arc<Stored<i32>>| rounds.noisy_counts(&held, &items.collect::<Vec<_>>());
        let numbers = held.map(count).transpose()?;
        let lookup = Lookup { schema, columns: &request.columns, key, control: stages.control };
        let (digests, items) = lookup.items(&released, again, names.as_ref())?;
        let Release { items, report } =
            selection.publish_items(&digests, &items, released, numbers.as_ref())?;
        let of_public = selection.published(&public, numbers.as_ref())?;
        Ok(Release { items: lists.beside(items, of_public.as_deref(), key)?, report })
    }
}

/// Whether the rows of whole partitions may have to be gathered into tables, whichever rounds there will be.
fn gathers(request: &SelectRequest) -> Result<bool> {
    any_possible(request, |request| Ok(way(&request)?.is_none_or(Way::gathers)))
}

/// Whether user counts help whichever rounds there will be.
fn counts_users(request: &SelectRequest, key: &ReleaseKey) -> Result<bool> {
    any_possible(request, |request| {
        let needed = way(&request)?.is_some_and(Way::needs_counts);
        let calibration = request.calibrate_once()?;
        let selection = Selection::of(Calibrated { request, look: None, calibration }, key.clone())?;
        Ok(needed || selection.job().frequent_above() >= 1)
    })
}

/// Whether something is so for any of the requests that a look may choose.
fn any_possible(request: &SelectRequest, is_so: impl Fn(SelectRequest) -> Result<bool>) -> Result<bool> {
    request.possible()?.into_iter().try_fold(false, |any, possible| Ok(any || is_so(possible)?))
}
