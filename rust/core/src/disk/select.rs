//! Partition selection: in memory if the rows fit, and on the disk if not.

use super::memory::{LEAST, Memory};
use super::names::{names_in_files, names_in_scratch};
use super::reading::{Rows, StoredRows};
use super::rounds::Rounds;
use super::stages::Stages;
use crate::contributions::{Contributions, Refill};
use crate::exchange::{Decisions, Packed, Selection, runs_in_pieces};
use crate::ingest::{ItemSchema, OpenSource, Source, again};
use crate::look::users_by_size;
use crate::mechanisms::Lists;
use crate::random::{Digest, ReleaseKey};
use crate::runtime::{Control, PHASES};
use crate::scratch::{Scratch, ScratchSpace, Stored};
use crate::task::{
    self, Calibrated, Enforced, PublicLists, Release, Report, Request, SelectRequest, after_a_look,
    most_rounds, selected_items,
};
use crate::{Error, Result};

/// Refuse settings with which the disk engine cannot run, before any row is read.
///
/// # Errors
/// [`Error::Incompatible`] for a mechanism that has no stages, or without a memory limit; [`Error::InvalidParameter`]
/// for a memory limit below [`LEAST`] or a path that is no folder.
pub fn check(request: &Request, memory_limit: Option<u64>, space: &ScratchSpace) -> Result<()> {
    let Request::Select(request) = request else {
        return Err(Error::Incompatible {
            what: "scratch= works for select_partitions only".into(),
            fix: "leave scratch= out",
        });
    };
    check_mechanism(request)?;
    let Some(limit) = memory_limit else {
        return Err(Error::Incompatible {
            what: "scratch= takes the rows beyond memory_limit=, which is not given".into(),
            fix: "give memory_limit=, such as half of the memory that is free",
        });
    };
    if limit < LEAST {
        let rule = "at least 67108864 (64 MiB) with scratch=";
        return Err(Error::parameter("memory_limit", rule, limit, "raise it, or leave scratch= out"));
    }
    if space.folder.is_dir() {
        return Ok(());
    }
    let rule = "a folder that exists";
    Err(Error::parameter("scratch", rule, space.folder.display(), "make it, or name another one"))
}

/// Refuse a mechanism that has no stages, and one whose order of items needs a table. If a look chooses the mechanism,
/// both have to have stages: no row decides whether there is an error.
fn check_mechanism(request: &SelectRequest) -> Result<()> {
    if request.counts.is_some() {
        return Err(Error::Incompatible {
            what: "scratch= does not work with counts= yet, which need all rows in memory".into(),
            fix: "leave one of the two out",
        });
    }
    let (mut on_disk, mut in_memory) = (None, None);
    for request in possible(request)? {
        let name = request.mechanism.type_name();
        *(if runs_on_disk(&request)? { &mut on_disk } else { &mut in_memory }) = Some(name);
    }
    match (on_disk, in_memory) {
        (_, None) => Ok(()),
        (Some(on_disk), Some(in_memory)) => Err(Error::Incompatible {
            what: format!(
                "scratch= does not work with a look that may choose {in_memory}, which needs all rows in memory, \
                 but with {on_disk}, its other choice"
            ),
            fix: "name that one with its parameters as mechanism=, or leave scratch= out",
        }),
        (None, Some(in_memory)) => Err(Error::Incompatible {
            what: format!("scratch= does not work with {in_memory}, which needs all rows in memory"),
            fix: "use CountLaplace, CountGaussian, WeightedLaplace, WeightedGaussian, Sips, Steered or OneItem, or \
                  leave scratch= out",
        }),
    }
}

fn runs_on_disk(request: &SelectRequest) -> Result<bool> {
    Ok(runs_in_pieces(&request.calibrate_once()?) && request.item_order()?.is_none())
}

/// The request, or those between which a look chooses.
fn possible(request: &SelectRequest) -> Result<Vec<SelectRequest>> {
    let Some(choice) = request.mechanism.choice() else { return Ok(vec![request.clone()]) };
    [Lists::Short, Lists::Long].into_iter().map(|lists| request.chosen(choice, lists)).collect()
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
    control.plan(PHASES + most_rounds(request)?);
    let again = again(&source, control)?;
    let opened = OpenSource::open(source, &request.columns, control)?;
    let (schema, lists) = (opened.layout().item_schema()?, PublicLists::read(&opened, request, key)?);
    let with_names = again.is_none() && schema.integer_kind().is_none();
    let rows = Rows::new(key, stages, &scratch, (counts_users(request, key)?, with_names))?;
    let spill = |mut contributions: Contributions| {
        lists.remove_from(&mut contributions);
        rows.take(&contributions)
    };
    let refill = Refill::new(schema.clone(), stages.memory.table, control, &spill);
    opened.deliver(key, control, || refill.worker())?;
    if let Some(mut contributions) = refill.finish()? {
        lists.remove_from(&mut contributions);
        let asked = after_a_look(request, key, |sizes| Ok(users_by_size(&contributions, sizes)))?;
        let items = lists.beside(selected_items(contributions, &asked, key, control)?, None, key)?;
        return Ok(Release { items, report: Report::new(Enforced::Select(asked), key)? });
    }
    control.end_reading();
    let StoredRows { contributions, counts, names } = rows.stored();
    let asked = after_a_look(request, key, |sizes| stages.users_by_size(&contributions, sizes, key))?;
    let selection = Selection::of(asked, key.clone())?;
    let job = selection.job().clone().with_sizes(stages.memory.sizes);
    let decided = Rounds { job: &job, stages, scratch: &scratch }.decided(contributions, counts)?;
    let publication = Publication { selection: &selection, schema: &schema, control };
    let Release { items, report } = publication.release(&decided, again, names.as_ref())?;
    Ok(Release { items: lists.beside(items, None, key)?, report })
}

/// Whether user counts help whichever rounds there will be.
fn counts_users(request: &SelectRequest, key: &ReleaseKey) -> Result<bool> {
    let helps = |request: SelectRequest| {
        let calibration = request.calibrate_once()?;
        let selection = Selection::of(Calibrated { request, look: None, calibration }, key.clone())?;
        Ok(selection.job().is_steered() || selection.job().frequent_above() >= 1)
    };
    possible(request)?.into_iter().map(helps).try_fold(false, |any, helps: Result<bool>| Ok(any || helps?))
}

/// What turns decisions into a release.
pub(super) struct Publication<'a> {
    pub(super) selection: &'a Selection,
    pub(super) schema: &'a ItemSchema,
    pub(super) control: &'a Control,
}

impl Publication<'_> {
    /// The release. Names come from scratch, from a second read of files, or from digests.
    ///
    /// # Errors
    /// [`Error::Source`] if files changed between the two reads, so that an item has no name.
    pub(super) fn release(
        &self,
        decided: &Packed,
        again: Option<Source>,
        names: Option<&Stored<i32>>,
    ) -> Result<Release> {
        let released = Decisions::unpack(decided.bytes())?;
        let names = match (names, again) {
            (Some(names), _) => names_in_scratch(names, &released, self.control)?,
            (None, Some(files)) if self.schema.integer_kind().is_none() => {
                let job = self.selection.job();
                names_in_files(files, &job.spec().columns, &released, job.key(), self.control)?
            }
            (None, Some(_) | None) => {
                let digests: Vec<Digest> = released.iter().map(|(item, _)| item).collect();
                let items = self.selection.integers(&digests, self.schema)?;
                return self.selection.publish_items(&digests, &items, released);
            }
        };
        self.selection.publish_items(
            &names.digests,
            &names.decode(self.schema, self.selection.job().key())?,
            released,
        )
    }
}
