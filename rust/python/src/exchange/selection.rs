//! A partition selection, as the driver sees it.

use dpsel_engines::exchange::{Decisions, Selection};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use super::batches::{arrow_schema, from_python};
use super::job::ExchangeJob;
use super::packed::ExchangePacked;
use crate::error::guarded;
use crate::export::Release;
use crate::job::draw_key;
use crate::request::{ListArguments, parse_select, parse_select_with};

/// Check the parameters of a selection whose stages run elsewhere.
#[pyfunction]
pub(crate) fn validate_exchange(request_json: &str) -> PyResult<()> {
    let request = parse_select(request_json)?;
    guarded(|| Selection::check(&request))
}

/// A selection whose stages run elsewhere, as the driver sees it.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeSelection {
    selection: Selection,
}

#[pymethods]
impl ExchangeSelection {
    /// Every parameter, the columns and the public lists are checked here, before any row is read.
    #[new]
    #[pyo3(signature = (request_json, schema, *, test_key=None, excluded=None, public_items=None))]
    fn new(
        request_json: &str,
        schema: &Bound<'_, PyAny>,
        test_key: Option<&[u8]>,
        excluded: Option<&Bound<'_, PyAny>>,
        public_items: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let request = parse_select_with(request_json, &ListArguments { excluded, public: public_items })?;
        let (key, schema) = (draw_key(test_key)?, arrow_schema(schema)?);
        guarded(|| Selection::new(request, &schema, key)).map(|selection| Self { selection })
    }

    /// What the tasks share.
    #[getter]
    fn job(&self) -> ExchangeJob {
        self.selection.job().clone().into()
    }

    /// The most rounds that there may be.
    #[getter]
    fn most_rounds(&self) -> PyResult<usize> {
        guarded(|| self.selection.most_rounds())
    }

    /// The sizes at which classes of users end, if a look at the data comes first.
    #[getter]
    fn sizes(&self) -> Option<Vec<u32>> {
        self.selection.sizes()
    }

    /// The selection that a look chooses, from the users that tasks counted.
    fn after_a_look(&self, counted: &ExchangePacked) -> PyResult<Self> {
        guarded(|| self.selection.after_a_look(&counted.packed)).map(|selection| Self { selection })
    }

    /// The items that tasks leave out when they read the table.
    #[getter]
    fn unread(&self) -> ExchangePacked {
        self.selection.unread().into()
    }

    /// The public items that are read, which are taken out before the rounds.
    #[getter]
    fn read_public(&self) -> ExchangePacked {
        self.selection.read_public().into()
    }

    /// Whether names have to be looked up in the table.
    fn looks_up(&self, schema: &Bound<'_, PyAny>) -> PyResult<bool> {
        let schema = arrow_schema(schema)?;
        guarded(|| self.selection.looks_up(&schema))
    }

    /// The released items and, in a tree, all nodes above them, from what the naming tasks found of the former.
    fn closed(
        &self,
        named: Vec<PyRecordBatch>,
        released: &ExchangePacked,
        schema: &Bound<'_, PyAny>,
    ) -> PyResult<ExchangePacked> {
        let (named, schema) = (from_python(named), arrow_schema(schema)?);
        guarded(|| self.selection.closed(&named, &released.packed, &schema)).map(ExchangePacked::from)
    }

    /// Whether the users or rows of the released items are counted.
    #[getter]
    fn is_counted(&self) -> bool {
        self.selection.is_counted()
    }

    /// Whether the list is compared with all that users hold.
    #[getter]
    fn has_rest(&self) -> bool {
        self.selection.has_rest()
    }

    /// The release, from what the naming tasks found, with the noisy numbers of users or rows and the sums of what the list
    /// covers if they are asked for.
    #[pyo3(signature = (named, released, numbers, rest, schema, chosen=None))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn publish(
        &self,
        py: Python<'_>,
        named: Vec<PyRecordBatch>,
        released: &ExchangePacked,
        numbers: Option<&ExchangePacked>,
        rest: Option<&ExchangePacked>,
        schema: &Bound<'_, PyAny>,
        chosen: Option<String>,
    ) -> PyResult<Release> {
        let (named, schema) = (from_python(named), arrow_schema(schema)?);
        let unpacked = |packed: &ExchangePacked| Decisions::unpack(packed.packed.bytes());
        let mut release = guarded(|| {
            let numbers = numbers.map(unpacked).transpose()?;
            self.selection.publish(
                &named,
                &unpacked(released)?,
                (numbers.as_ref(), rest.map(|rest| &rest.packed)),
                &schema,
            )
        })?;
        release.report.chosen = chosen;
        Release::new(py, release)
    }
}
