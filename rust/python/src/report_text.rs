//! A report whose text is written when it is first asked for: many calls want the items alone.

use std::sync::OnceLock;

use dpsel_core::task::Report;
use pyo3::prelude::*;

use crate::error::{internal, to_python};

/// A report on its way to Python.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct ReportText {
    /// `None` if the text is given.
    report: Option<Report>,
    text: OnceLock<String>,
}

impl ReportText {
    /// A report that has no text yet.
    pub(crate) fn of(report: Report) -> Self {
        Self { report: Some(report), text: OnceLock::new() }
    }

    /// A text that was written before.
    pub(crate) fn given(text: String) -> Self {
        Self { report: None, text: OnceLock::from(text) }
    }
}

#[pymethods]
impl ReportText {
    /// The report as JSON.
    #[getter]
    pub(crate) fn text(&self) -> PyResult<&str> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let report = self.report.as_ref().ok_or_else(|| internal("a report has no text"))?;
        let text = report.to_json().map_err(to_python)?;
        Ok(self.text.get_or_init(|| text))
    }
}
