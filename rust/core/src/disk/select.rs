//! Partition selection: in memory if the rows fit, and on the disk if not.

use super::memory::{LEAST, Memory};
use super::names::{names_in_files, names_in_scratch};
use super::reading::{Rows, StoredRows};
use super::rounds::Rounds;
use super::stages::Stages;
use crate::contributions::{Contributions, Refill};
use crate::exchange::{Decisions, Packed, Selection, runs_in_pieces};
use crate::ingest::{ItemSchema, OpenSource, Source, again};
use crate::random::{Digest, ReleaseKey};
use crate::rounds::Calibration;
use crate::runtime::{Control, PHASES};
use crate::scratch::{Scratch, ScratchSpace, Stored};
use crate::task::{self, Calibrated, Enforced, Release, Report, Request, SelectRequest, selected_items};
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
            fix: LEAVE_OUT,
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

const LEAVE_OUT: &str = "leave scratch= out";

/// Refuse a mechanism that has no stages, and one whose order of items needs a table.
fn check_mechanism(request: &SelectRequest) -> Result<()> {
    let listed = request.exclude.is_some() || request.public_items.is_some();
    if listed || request.min_users > 1 || request.counts.is_some() {
        return Err(Error::Incompatible {
            what: "scratch= does not work with exclude=, public_items=, min_users= or counts= yet".into(),
            fix: LEAVE_OUT,
        });
    }
    let looks = request.mechanism.choice().is_some();
    if !looks && runs_on_disk(&request.calibrate_once()?) && request.item_order()?.is_none() {
        return Ok(());
    }
    Err(Error::Incompatible {
        what: "scratch= does not work with this mechanism, which needs all rows in memory".into(),
        fix: "use CountLaplace, CountGaussian, WeightedLaplace, WeightedGaussian, Sips or OneItem (\"auto\" mostly \
              takes Steered), or leave scratch= out",
    })
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
    let (memory, calibration) = (Memory::new(limit, control), request.calibrate_once()?);
    select_within(source, request, &calibration, key, Stages { memory, control }, space)
}

/// Whether the disk engine has the stages of these rounds.
fn runs_on_disk(calibration: &Calibration) -> bool {
    runs_in_pieces(calibration) && calibration.scoring().is_none()
}

/// Select with a given division of the memory.
pub(super) fn select_within(
    source: Source,
    request: &SelectRequest,
    calibration: &Calibration,
    key: &ReleaseKey,
    stages: Stages<'_>,
    space: ScratchSpace,
) -> Result<Release> {
    let (control, scratch) = (stages.control, Scratch::new(space)?);
    control.plan(PHASES + calibration.rounds.len());
    let selection = Selection::of(request.clone(), calibration.clone(), key.clone())?;
    let job = selection.job().clone().with_sizes(stages.memory.sizes);
    let again = again(&source, control)?;
    let opened = OpenSource::open(source, &request.columns, control)?;
    let schema = opened.layout().item_schema()?;
    let with_names = again.is_none() && schema.integer_kind().is_none();
    let rows = Rows::new(&job, stages, &scratch, with_names)?;
    let spill = |contributions: Contributions| rows.take(&contributions);
    let refill = Refill::new(schema.clone(), stages.memory.table, control, &spill);
    opened.deliver(key, control, || refill.worker())?;
    if let Some(contributions) = refill.finish()? {
        let calibrated =
            Calibrated { request: request.clone(), look: None, calibration: calibration.clone() };
        let items = selected_items(contributions, &calibrated, key, control)?;
        return Ok(Release { items, report: Report::new(Enforced::Select(calibrated), key)? });
    }
    control.end_reading();
    let rounds = Rounds { job: &job, stages, scratch: &scratch };
    let StoredRows { contributions, counts, names } = rows.stored();
    let decided = rounds.decided(contributions, counts)?;
    Publication { selection: &selection, schema: &schema, control }.release(&decided, again, names.as_ref())
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
