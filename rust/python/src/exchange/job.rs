//! The job that all tasks of a release share.

use std::num::NonZeroU32;

use dpsel_engines::exchange::{
    self, FalsePositives, FrequentItems, Packed, ReleasedSet, Sum, UserCounts, bucket_decisions, decided,
};
use dpsel_exact::Error;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use super::batches::to_python;
use super::packed::ExchangePacked;
use super::task::ExchangeTask;
use crate::error::guarded;

/// What the tasks of one release share. It holds the release key, so it has no pickle: it travels as an
/// `ExchangeSealedJob`.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeJob {
    pub(super) job: exchange::ExchangeJob,
}

impl From<exchange::ExchangeJob> for ExchangeJob {
    fn from(job: exchange::ExchangeJob) -> Self {
        Self { job }
    }
}

#[pymethods]
impl ExchangeJob {
    /// The number of rounds.
    #[getter]
    fn rounds(&self) -> usize {
        self.job.spec().calibration.rounds.len()
    }

    /// Whether the rounds score.
    #[getter]
    fn is_steered(&self) -> bool {
        self.job.is_steered()
    }

    /// Whether items are the nodes of a tree.
    #[getter]
    fn is_tree(&self) -> bool {
        self.job.is_tree()
    }

    /// Whether the items are n-grams of a text.
    #[getter]
    fn is_text(&self) -> bool {
        self.job.spec().columns.ngrams.is_some()
    }

    /// The task that reads the table without some items, and counts the users of the others if asked for.
    #[pyo3(signature = (num_buckets, with_user_counts, left_out=None))]
    fn encode(
        &self,
        num_buckets: u32,
        with_user_counts: bool,
        left_out: Option<&[u8]>,
    ) -> PyResult<ExchangeTask> {
        guarded(|| self.job.encode(num_buckets, with_user_counts, self.set_if_given(left_out)?))
            .map(ExchangeTask::new)
    }

    /// The task that takes items out of what was read.
    fn take_out(&self, items: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| Ok(self.job.take_out(self.opened_set(items)?))).map(ExchangeTask::new)
    }

    /// The task that counts users by their numbers of items, in classes that end with these sizes.
    fn lengths(&self, sizes: Vec<u32>) -> ExchangeTask {
        ExchangeTask::new(self.job.lengths(sizes))
    }

    /// The number of users above which an item counts as frequent.
    #[getter]
    fn frequent_above(&self) -> u32 {
        self.job.frequent_above()
    }

    /// The task that adds up user counts, and keeps those of frequent items.
    #[staticmethod]
    fn frequent_items(frequent_above: u32) -> ExchangeTask {
        ExchangeTask::new(FrequentItems::above(frequent_above))
    }

    /// The task that keeps of each user what the rounds need, given the counts of frequent items, and weighs the first
    /// round for the driver.
    fn prune_and_weigh(&self, frequent_above: u32, frequent: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| {
            let users = UserCounts::unpack(frequent_above, self.opened(frequent)?.bytes())?;
            self.job.prune_and_weigh(users)
        })
        .map(ExchangeTask::new)
    }

    /// The task that weighs a round for the driver, without the items released before.
    fn weigh(&self, round: u32, released: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.weigh(round, self.opened_set(released)?)).map(ExchangeTask::new)
    }

    /// The decisions of a round, given the weights that all tasks sent to the driver.
    fn decided(&self, py: Python<'_>, round: u32, sent: &ExchangePacked) -> PyResult<ExchangePacked> {
        py.detach(|| guarded(|| decided(&self.job, round, &sent.packed))).map(ExchangePacked::from)
    }

    /// The task that puts users into blocks and weighs the first scored round, given the user counts of all items with
    /// more than one.
    fn block_users(&self, shared: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.block_users(UserCounts::unpack(1, self.opened(shared)?.bytes())?))
            .map(ExchangeTask::new)
    }

    /// The task that weighs a later scored round on blocks, given the states of shared items.
    fn weigh_blocks(&self, round: u32, states: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.weigh_blocks(round, &self.opened(states)?)).map(ExchangeTask::new)
    }

    /// The task that counts the users of the wanted items, or of all items.
    fn count(&self, num_buckets: u32, wanted: Option<&[u8]>, bounded: bool) -> PyResult<ExchangeTask> {
        guarded(|| {
            let wanted = wanted.map(|wanted| self.opened_set(wanted)).transpose()?;
            self.job.count(num_buckets, wanted, bounded)
        })
        .map(ExchangeTask::new)
    }

    /// The task that counts the users or rows of released items, with all items of each user.
    fn count_released(&self, num_buckets: u32, released: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.count_released(num_buckets, self.opened_set(released)?)).map(ExchangeTask::new)
    }

    /// The task that sums up what a list covers.
    fn count_rest(&self, listed: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.count_rest(self.opened_set(listed)?)).map(ExchangeTask::new)
    }

    /// The task that makes noisy numbers of these counts.
    fn noisy_counts(&self) -> PyResult<ExchangeTask> {
        guarded(|| self.job.noisy_counts()).map(ExchangeTask::new)
    }

    /// The task that adds up counts, and keeps only the `most` largest if asked for.
    fn total(&self, most: Option<u32>) -> ExchangeTask {
        ExchangeTask::new(self.job.total(most))
    }

    /// The released set of decided items: a list, or a filter with `bits` for each item. The false positives are to be
    /// appended to a filter.
    #[staticmethod]
    #[pyo3(signature = (decided, bits=None))]
    fn released_set(
        py: Python<'_>,
        decided: &ExchangePacked,
        bits: Option<NonZeroU32>,
    ) -> PyResult<ExchangePacked> {
        let decided = decided.packed.bytes();
        let packed = py.detach(|| guarded(|| ReleasedSet::pack(decided, bits)))?;
        Ok(Packed::from(packed).into())
    }

    /// The task that finds the items of the table that pass a filter.
    fn filter_candidates(&self, num_buckets: u32, filter: &[u8]) -> PyResult<ExchangeTask> {
        guarded(|| self.job.filter_candidates(num_buckets, self.opened_set(filter)?)).map(ExchangeTask::new)
    }

    /// The task that finds the false positives among them. It also takes the batches of `bucket_decisions`.
    #[staticmethod]
    fn false_positives() -> ExchangeTask {
        ExchangeTask::new(Sum::new(FalsePositives))
    }

    /// Decided items as batches, by bucket of items.
    #[staticmethod]
    fn bucket_decisions(
        py: Python<'_>,
        num_buckets: u32,
        decided: &ExchangePacked,
    ) -> PyResult<Vec<PyRecordBatch>> {
        let decided = decided.packed.bytes();
        py.detach(|| guarded(|| bucket_decisions(num_buckets, decided))).map(to_python)
    }

    /// The task that looks up the names of released items in the table without some items.
    #[pyo3(signature = (released, left_out=None))]
    fn name(&self, released: &[u8], left_out: Option<&[u8]>) -> PyResult<ExchangeTask> {
        guarded(|| Ok(self.job.name(self.opened_set(released)?, self.set_if_given(left_out)?)))
            .map(ExchangeTask::new)
    }

    /// Packed values as they travel to tasks, which open them with the key of the job.
    fn sealed<'py>(&self, py: Python<'py>, packed: &ExchangePacked) -> Bound<'py, PyBytes> {
        let sealed = py.detach(|| packed.packed.sealed(self.job.key()));
        PyBytes::new(py, &sealed)
    }
}

impl ExchangeJob {
    /// Open what the driver has sealed for tasks.
    fn opened(&self, sealed: &[u8]) -> Result<Packed, Error> {
        Packed::opened(sealed, self.job.key())
    }

    fn opened_set(&self, sealed: &[u8]) -> Result<ReleasedSet, Error> {
        ReleasedSet::unpack(self.opened(sealed)?.bytes())
    }

    /// The same, or the empty set.
    fn set_if_given(&self, sealed: Option<&[u8]>) -> Result<ReleasedSet, Error> {
        sealed.map_or(Ok(ReleasedSet::default()), |sealed| self.opened_set(sealed))
    }
}
