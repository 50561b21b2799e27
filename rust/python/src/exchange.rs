//! The pieces of a release on a cluster.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use dpsel_core::Error;
use dpsel_core::exchange::{Decisions, Known, MostUsers, Packed, Plan, Selection, Stage, TopK, scatter};
use dpsel_core::runtime::panics::caught;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};

use crate::error::{guarded, to_python};
use crate::export::Release;
use crate::job::release_key;
use crate::request::{list_of, parse_select, parse_top_k};
use crate::sealing::ClusterPacked;

/// Check the parameters of a selection on a cluster.
#[pyfunction]
pub(crate) fn validate_cluster(request_json: &str) -> PyResult<()> {
    let request = parse_select(request_json)?;
    guarded(|| Selection::calibrate(&request)).map(drop)
}

/// A selection on a cluster, as the driver sees it.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterSelection {
    selection: Selection,
}

#[pymethods]
impl ClusterSelection {
    /// Every parameter and the columns are checked here, before any row is read.
    #[new]
    #[pyo3(signature = (request_json, schema, *, test_key=None))]
    fn new(request_json: &str, schema: &Bound<'_, PyAny>, test_key: Option<&[u8]>) -> PyResult<Self> {
        let request = parse_select(request_json)?;
        let (key, schema) = (release_key(test_key)?, arrow_schema(schema)?);
        guarded(|| Selection::new(request, &schema, key)).map(|selection| Self { selection })
    }

    /// What the tasks share.
    #[getter]
    fn plan(&self) -> ClusterPlan {
        ClusterPlan { plan: self.selection.plan().clone() }
    }

    /// Whether names have to be looked up in the table.
    fn looks_up(&self, schema: &Bound<'_, PyAny>) -> PyResult<bool> {
        let schema = arrow_schema(schema)?;
        guarded(|| self.selection.looks_up(&schema))
    }

    /// The release, from what the naming tasks found.
    #[pyo3(signature = (named, released, schema, chosen=None))]
    fn publish(
        &self,
        named: Vec<PyRecordBatch>,
        released: &ClusterPacked,
        schema: &Bound<'_, PyAny>,
        chosen: Option<String>,
    ) -> PyResult<Release> {
        let (named, schema) = (batches(named), arrow_schema(schema)?);
        let decided = || Decisions::unpack(released.packed.bytes());
        let mut release = guarded(|| self.selection.publish(&named, decided()?, &schema))?;
        release.report.chosen = chosen;
        Release::new(release)
    }
}

/// A top-k on a cluster, as the driver sees it.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterTopK {
    top_k: TopK,
}

#[pymethods]
impl ClusterTopK {
    /// Every parameter and the columns are checked here; `domain` has `(0, item)` for each item of a public list.
    #[new]
    #[pyo3(signature = (request_json, schema, *, test_key=None, domain=None))]
    fn new(
        request_json: &str,
        schema: &Bound<'_, PyAny>,
        test_key: Option<&[u8]>,
        domain: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let request = parse_top_k(request_json)?;
        let (key, schema) = (release_key(test_key)?, arrow_schema(schema)?);
        let domain = domain.map(|domain| list_of(&request, domain)).transpose()?;
        guarded(|| TopK::new(request, &schema, domain.as_ref(), key)).map(|top_k| Self { top_k })
    }

    /// What the tasks share.
    #[getter]
    fn plan(&self) -> ClusterPlan {
        ClusterPlan { plan: self.top_k.plan().clone() }
    }

    /// Whether partitions are selected first.
    #[getter]
    fn is_discovery(&self) -> bool {
        self.top_k.is_discovery()
    }

    /// The items of a public list, packed.
    #[getter]
    fn listed(&self) -> Option<ClusterPacked> {
        self.top_k.listed().map(ClusterPacked::from)
    }

    /// How many of the largest counts the draw looks at; none for all of them.
    #[getter]
    fn largest(&self) -> Option<u32> {
        self.top_k.largest()
    }

    /// Draw from what was counted.
    fn draw(&self, py: Python<'_>, counted: &ClusterPacked) -> PyResult<ClusterDraw> {
        let counted = counted.packed.bytes();
        let drawn = py.detach(|| guarded(|| self.top_k.draw(&Decisions::unpack(counted)?)))?;
        Ok(ClusterDraw { drawn })
    }

    /// Whether names have to be looked up in the table.
    fn looks_up(&self, schema: &Bound<'_, PyAny>) -> PyResult<bool> {
        let schema = arrow_schema(schema)?;
        guarded(|| self.top_k.looks_up(&schema))
    }

    /// The answer; `named` is what the naming tasks found.
    #[pyo3(signature = (named, draw, schema, chosen=None))]
    fn publish(
        &self,
        named: Vec<PyRecordBatch>,
        draw: &ClusterDraw,
        schema: &Bound<'_, PyAny>,
        chosen: Option<String>,
    ) -> PyResult<Release> {
        let (named, schema) = (batches(named), arrow_schema(schema)?);
        let mut release = guarded(|| self.top_k.publish(&named, &draw.drawn, &schema))?;
        release.report.chosen = chosen;
        Release::new(release)
    }
}

/// What a top-k has drawn.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterDraw {
    drawn: dpsel_core::exchange::Drawn,
}

#[pymethods]
impl ClusterDraw {
    /// The items, packed.
    #[getter]
    fn items(&self) -> ClusterPacked {
        Packed::from(self.drawn.pack()).into()
    }
}

/// What the tasks of one release share. It holds the release key, so it has no pickle: it travels as a `ClusterSealed`.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterPlan {
    pub(crate) plan: Plan,
}

#[pymethods]
impl ClusterPlan {
    /// The number of rounds.
    #[getter]
    fn rounds(&self) -> usize {
        self.plan.work().calibration.rounds.len()
    }

    /// Whether the rounds gather evidence.
    #[getter]
    fn is_steered(&self) -> bool {
        self.plan.is_steered()
    }

    /// Whether the items are n-grams of a text.
    #[getter]
    fn is_text(&self) -> bool {
        self.plan.work().columns.ngrams.is_some()
    }

    /// The task that reads the table; with a census it counts the users of items as well.
    fn encode(&self, routes: u32, with_census: bool) -> PyResult<ClusterTask> {
        guarded(|| self.plan.encode(routes, with_census)).map(ClusterTask::new)
    }

    /// The most users with whom hardly any item is released.
    #[getter]
    fn few(&self) -> u32 {
        self.plan.few()
    }

    /// The task that adds up the users of items, and keeps what is above a few.
    fn crowds(&self, few: u32) -> ClusterTask {
        ClusterTask::new(self.plan.crowds(few))
    }

    /// The task that keeps of each user what the rounds need; with crowds, only the items that some round can release.
    #[pyo3(signature = (few=0, crowds=None))]
    fn settle(&self, few: u32, crowds: Option<&[u8]>) -> PyResult<ClusterTask> {
        guarded(|| {
            let users =
                crowds.map(|crowds| MostUsers::unpack(few, self.opened(crowds)?.bytes())).transpose()?;
            self.plan.settle(users)
        })
        .map(ClusterTask::new)
    }

    /// The task that weighs a round without the items released before.
    fn weigh(&self, routes: u32, round: u32, known: &[u8]) -> PyResult<ClusterTask> {
        guarded(|| self.plan.weigh(routes, round, self.known_items(known)?)).map(ClusterTask::new)
    }

    /// The task that decides a round.
    fn decide(&self, round: u32) -> PyResult<ClusterTask> {
        guarded(|| self.plan.decide(round)).map(ClusterTask::new)
    }

    /// The task that weighs a round of evidence.
    fn tilt(&self, routes: u32, round: u32) -> PyResult<ClusterTask> {
        guarded(|| self.plan.tilt(routes, round)).map(ClusterTask::new)
    }

    /// The task that looks at the evidence of a round.
    fn steer(&self, round: u32) -> PyResult<ClusterTask> {
        guarded(|| self.plan.steer(round)).map(ClusterTask::new)
    }

    /// The task that counts the users of items, of all of them if none are named.
    fn count(&self, routes: u32, wanted: Option<&[u8]>, bounded: bool) -> PyResult<ClusterTask> {
        guarded(|| {
            let wanted = wanted.map(|wanted| self.known_items(wanted)).transpose()?;
            self.plan.count(routes, wanted, bounded)
        })
        .map(ClusterTask::new)
    }

    /// The task that adds up counts, and may keep only the largest.
    fn total(&self, most: Option<u32>) -> ClusterTask {
        ClusterTask::new(self.plan.total(most))
    }

    /// What tells tasks of decided items: a list, or a filter of so many bits for each. To a filter `mistaken` is to be
    /// appended.
    #[staticmethod]
    #[pyo3(signature = (decided, bits=None))]
    fn known(py: Python<'_>, decided: &ClusterPacked, bits: Option<NonZeroU32>) -> PyResult<ClusterPacked> {
        let decided = decided.packed.bytes();
        let packed = py.detach(|| guarded(|| Known::pack(decided, bits)))?;
        Ok(Packed::from(packed).into())
    }

    /// The task that finds the items of the table that pass a filter.
    fn sift(&self, routes: u32, sieve: &[u8]) -> PyResult<ClusterTask> {
        guarded(|| self.plan.sift(routes, self.known_items(sieve)?)).map(ClusterTask::new)
    }

    /// The task that finds those of them that were not decided, where `scatter` has brought both together.
    fn mistaken(&self) -> ClusterTask {
        ClusterTask::new(self.plan.mistaken())
    }

    /// Decided items as rows, routed by item.
    #[staticmethod]
    fn scatter(py: Python<'_>, routes: u32, decided: &ClusterPacked) -> PyResult<Vec<PyRecordBatch>> {
        let decided = decided.packed.bytes();
        let made = py.detach(|| guarded(|| scatter(routes, decided)))?;
        Ok(made.into_iter().map(PyRecordBatch::new).collect())
    }

    /// The task that looks up the names of released items.
    fn name(&self, known: &[u8]) -> PyResult<ClusterTask> {
        guarded(|| Ok(self.plan.name(self.known_items(known)?))).map(ClusterTask::new)
    }
}

impl ClusterPlan {
    /// What the driver has sealed for tasks.
    fn opened(&self, sealed: &[u8]) -> Result<Packed, Error> {
        Packed::opened(sealed, self.plan.key())
    }

    fn known_items(&self, sealed: &[u8]) -> Result<Known, Error> {
        Known::unpack(self.opened(sealed)?.bytes())
    }
}

fn arrow_schema(schema: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let schema: PySchema = schema.extract()?;
    Ok(schema.into_inner().as_ref().clone())
}

pub(crate) fn batches(given: Vec<PyRecordBatch>) -> Vec<RecordBatch> {
    given.into_iter().map(PyRecordBatch::into_inner).collect()
}

/// The work of one task: batches in, batches out.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ClusterTask {
    // Only for `Sync`, which Python objects have to be; a task has one thread.
    stage: Mutex<Box<dyn Stage>>,
}

impl ClusterTask {
    fn new(stage: impl Stage + 'static) -> Self {
        Self { stage: Mutex::new(Box::new(stage)) }
    }

    fn run(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut dyn Stage) -> Result<Vec<RecordBatch>, Error> + Send,
    ) -> PyResult<Vec<PyRecordBatch>> {
        let done = py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            caught(|| step(stage.as_mut())).unwrap_or(Err(Error::Internal("a task panicked")))
        });
        Ok(done.map_err(to_python)?.into_iter().map(PyRecordBatch::new).collect())
    }
}

#[pymethods]
impl ClusterTask {
    /// Take a batch; returns what is ready, as objects with `__arrow_c_array__`.
    fn push(&self, py: Python<'_>, batch: PyRecordBatch) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.push(batch.into_inner()))
    }

    /// There are no more batches; returns the rest.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<PyRecordBatch>> {
        self.run(py, |stage| stage.finish())
    }
}
