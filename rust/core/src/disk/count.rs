//! Exact numbers of users of items, for public data: in memory if the rows fit, and on the disk if not.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::divide::divided;
use super::memory::Memory;
use super::output::Output;
use super::reading::{Read, Rows, StoredRows, TakenOut, Wanted};
use super::rounds::Rounds;
use super::stages::Stages;
use crate::Result;
use crate::contributions::RowOrder;
use crate::exchange::{Decisions, ExchangeJob, JobSpec, Packed};
use crate::ingest::{OpenSource, Source};
use crate::numeric::widths::clipped;
use crate::random::ReleaseKey;
use crate::rounds::Calibration;
use crate::runtime::{Control, PHASES};
use crate::scratch::{Scratch, ScratchSpace};
use crate::task::{self, CountRequest};

/// As [`task::users_per_item`]. Rows that exceed the memory limit go to scratch, and the numbers are the same.
///
/// # Errors
/// See [`crate::Error`].
pub fn users_per_item(
    source: Source,
    request: &CountRequest,
    key: &ReleaseKey,
    control: &Control,
    space: ScratchSpace,
) -> Result<Vec<(u32, u64)>> {
    let Some(limit) = control.memory_limit() else {
        return task::users_per_item(source, request, key, control);
    };
    Stages::within(limit, control, |stages| counted_within(source, request, key, stages, space))
}

/// The numbers with a given division of the memory.
pub(super) fn counted_within(
    source: Source,
    request: &CountRequest,
    key: &ReleaseKey,
    stages: Stages<'_>,
    space: ScratchSpace,
) -> Result<Vec<(u32, u64)>> {
    let (control, scratch) = (stages.control, Scratch::new(space)?);
    control.plan(PHASES, 0);
    let opened = OpenSource::open(source, &request.columns, control)?;
    let schema = opened.layout().item_schema()?;
    let rows = Rows::new(
        key,
        stages,
        &scratch,
        Wanted { counts: false, names: false, taken_out: TakenOut::Nothing },
    )?;
    let StoredRows { contributions, .. } = match rows.read(opened, (schema, RowOrder::Any), &|_| 0, |_| ())? {
        Read::InMemory(contributions) => return Ok(contributions.users_per_item()),
        Read::Stored(rows) => rows,
    };
    let (contributions, stages) =
        divided(contributions, (&RowOrder::Any, Memory::divided), key, stages, &scratch)?;
    let spec = JobSpec {
        columns: request.columns.clone(),
        bound: None,
        calibration: Calibration::of(vec![]),
        with_weights: false,
        min_users: 1,
    };
    let job = ExchangeJob::new(spec, key.clone()).with_sizes(stages.memory.sizes);
    let items = UsersOfItems::default();
    Rounds { job: &job, stages, scratch: &scratch }.total(&contributions, (None, false, None), || &items)?;
    let items = items.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(items.into_iter().collect())
}

/// How many items have how many users.
#[derive(Debug, Default)]
struct UsersOfItems(Mutex<BTreeMap<u32, u64>>);

impl Output for &UsersOfItems {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let packed = Packed::gathered(std::slice::from_ref(batch))?;
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, users) in Decisions::each(packed.bytes())? {
            *items.entry(clipped(users.unsigned_abs())).or_default() += 1;
        }
        Ok(())
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}
