//! What a call does with the rows of a source, on a thread that needs no interpreter.

use dpsel_exact::Result;
use dpsel_rows::ingest::{Columns, Source};
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;

use crate::settings::Settings;

/// What is done when the rows are there, with fresh counters.
pub(crate) type Begun<Made> = (Control, Box<dyn FnOnce(Source, &Control) -> Result<Made> + Send>);

/// Consumes the rows of a source.
pub(crate) trait Consumer {
    /// What comes of it.
    type Made: Send + 'static;

    /// The columns that are read.
    fn columns(&self) -> PyResult<&Columns>;

    /// Whether there is much to do however few rows there are.
    fn is_long(&self) -> bool;

    /// The settings of the call.
    fn settings(&self) -> &Settings;

    /// Begin anew, on `few` rows or more.
    fn begin(&self, py: Python<'_>, few: bool) -> PyResult<Begun<Self::Made>>;
}
