//! A top-k of rows: in memory if they fit, and on the disk if not. The stages and their order are those of Spark.

use std::sync::Arc;

use super::divide::divided;
use super::memory::Memory;
use super::names::Lookup;
use super::reading::{Read, Rows, StoredRows, TakenOut, Wanted};
use super::rounds::Rounds;
use super::stages::Stages;
use crate::Result;
use crate::contributions::{self, RowOrder};
use crate::exchange::{Decisions, Packed, ReleasedSet, TopK};
use crate::ingest::{OpenSource, Source, again};
use crate::random::ReleaseKey;
use crate::rounds;
use crate::runtime::Control;
use crate::scratch::{Scratch, ScratchSpace};
use crate::task::{
    self, Calibrated, Enforced, Release, Report, TopKRequest, columns_of_rows, items_of_contributions, phases,
};

/// As [`task::top_k_from_rows`]. Rows that exceed the memory limit go to scratch, and the release is the same.
///
/// Without a memory limit nothing goes to scratch.
///
/// # Errors
/// See [`crate::Error`].
pub fn top_k_from_rows(
    source: Source,
    request: &TopKRequest,
    key: &ReleaseKey,
    control: &Control,
    space: ScratchSpace,
) -> Result<Release> {
    let Some(limit) = control.memory_limit() else {
        return task::top_k_from_rows(source, request, key, control);
    };
    Stages::within(limit, control, |stages| top_k_within(source, request, key, stages, space))
}

/// A top-k with a given division of the memory.
pub(super) fn top_k_within(
    source: Source,
    request: &TopKRequest,
    key: &ReleaseKey,
    stages: Stages<'_>,
    space: ScratchSpace,
) -> Result<Release> {
    let (control, scratch) = (stages.control, Scratch::new(space)?);
    let asked = Calibrated { request: request.clone(), look: None, calibration: request.calibrate()? };
    let columns = columns_of_rows(&asked)?;
    control.plan(phases(&asked), 0);
    let again = again(&source, control)?;
    let opened = OpenSource::open(source, columns, control)?;
    let schema = opened.layout().item_schema()?;
    let list =
        request.listed.as_deref().map(|list| list.in_types_of(opened.layout(), columns)).transpose()?;
    let listed = list.map(|(list, types)| {
        Ok((contributions::read(list, &columns.of_list(), None, key, &apart(control))?, types))
    });
    let listed = listed.transpose()?;
    let with_names = listed.is_none() && again.is_none() && schema.integer_kind().is_none();
    let wanted = Wanted {
        counts: asked.calibration.discovery.is_some(),
        names: with_names,
        taken_out: TakenOut::Nothing,
    };
    let rows = Rows::new(key, stages, &scratch, wanted)?;
    let discovery = asked.calibration.discovery.clone();
    let later = |totals| discovery.as_ref().map_or(0, |found| rounds::bytes(found, totals, control));
    match rows.read(opened, (schema.clone(), RowOrder::Any), &later, |_| ())? {
        Read::InMemory(contributions) => {
            let items = items_of_contributions(contributions, listed.as_ref(), &asked, key, control)?;
            Ok(Release { items, report: Report::new(Enforced::TopK(asked), key)? })
        }
        Read::Stored(rows) => {
            let lookup = Lookup { schema: &schema, columns, key, control };
            let top_k = TopK::of(asked.clone(), listed, key.clone())?;
            drawn(&top_k, rows, (stages, &scratch), lookup, again)
        }
    }
}

/// The control of a public list, which is no part of the progress and of the rows that are counted.
fn apart(control: &Control) -> Control {
    Control::new(control.threads().try_into().ok(), None)
}

/// Count, draw and publish what is in scratch.
fn drawn(
    top_k: &TopK,
    rows: StoredRows,
    (stages, scratch): (Stages<'_>, &Scratch),
    lookup: Lookup<'_>,
    again: Option<Source>,
) -> Result<Release> {
    let StoredRows { contributions, held: _, counts, names } = rows;
    let (contributions, stages) =
        divided(contributions, (&RowOrder::Any, Memory::divided), lookup.key, stages, scratch)?;
    let contributions = Arc::new(contributions);
    let job = top_k.job().clone().with_sizes(stages.memory.sizes);
    let rounds = Rounds { job: &job, stages, scratch };
    let wanted = if top_k.is_discovery() {
        Some(rounds.decided(Arc::clone(&contributions), counts)?)
    } else {
        top_k.listed()
    };
    let set = |wanted: Packed| ReleasedSet::unpack(&ReleasedSet::pack(wanted.bytes(), None)?);
    let wanted = wanted.map(set).transpose()?;
    let counted = rounds.counted(&contributions, wanted.as_ref(), !top_k.is_discovery(), top_k.largest())?;
    drop(contributions);
    let drawn = top_k.draw(&Decisions::unpack(counted.bytes())?)?;
    let picked = Decisions::unpack(&drawn.pack())?;
    top_k.publish_with(&drawn, |_| lookup.items(&picked, again, names.as_ref()))
}
