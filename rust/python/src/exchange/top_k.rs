//! A top-k, as the driver sees it.

use dpsel_engines::exchange::{Decisions, Drawn, Packed, TopK};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use super::batches::{arrow_schema, from_python};
use super::job::ExchangeJob;
use super::packed::ExchangePacked;
use crate::error::guarded;
use crate::export::Release;
use crate::job::draw_key;
use crate::request::{list_of, parse_top_k};

/// A top-k whose users are counted elsewhere, as the driver sees it.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeTopK {
    top_k: TopK,
}

#[pymethods]
impl ExchangeTopK {
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
        let (key, schema) = (draw_key(test_key)?, arrow_schema(schema)?);
        let domain = domain.map(|domain| list_of(&request, domain)).transpose()?;
        guarded(|| TopK::new(request, &schema, domain.as_ref(), key)).map(|top_k| Self { top_k })
    }

    /// What the tasks share.
    #[getter]
    fn job(&self) -> ExchangeJob {
        self.top_k.job().clone().into()
    }

    /// Whether the items are discovered first.
    #[getter]
    fn is_discovery(&self) -> bool {
        self.top_k.is_discovery()
    }

    /// Whether their numbers of users have noise when they come to the driver.
    #[getter]
    fn has_noisy_numbers(&self) -> bool {
        self.top_k.has_noisy_numbers()
    }

    /// The items of a public list, packed.
    #[getter]
    fn listed(&self) -> Option<ExchangePacked> {
        self.top_k.listed().map(ExchangePacked::from)
    }

    /// The number of the largest counts that the draw uses; none for all of them.
    #[getter]
    fn largest(&self) -> Option<u32> {
        self.top_k.largest()
    }

    /// Draw from the counts.
    fn draw(&self, py: Python<'_>, counted: &ExchangePacked) -> PyResult<ExchangeDraw> {
        let counted = counted.packed.bytes();
        let drawn = py.detach(|| guarded(|| self.top_k.draw(&Decisions::unpack(counted)?)))?;
        Ok(ExchangeDraw { drawn })
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
        py: Python<'_>,
        named: Vec<PyRecordBatch>,
        draw: &ExchangeDraw,
        schema: &Bound<'_, PyAny>,
        chosen: Option<String>,
    ) -> PyResult<Release> {
        let (named, schema) = (from_python(named), arrow_schema(schema)?);
        let mut release = guarded(|| self.top_k.publish(&named, &draw.drawn, &schema))?;
        release.report.chosen = chosen;
        Release::new(py, release)
    }
}

/// The drawn items of a top-k.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ExchangeDraw {
    drawn: Drawn,
}

#[pymethods]
impl ExchangeDraw {
    /// The items, packed.
    #[getter]
    fn items(&self) -> ExchangePacked {
        Packed::from(self.drawn.pack()).into()
    }
}
