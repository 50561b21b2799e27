//! The entry of every task: a source and a job go in, a release or counts come out.

use dpsel_core::task::Outcome;
use pyo3::prelude::*;

use crate::export::Release;
use crate::job::Job;
use crate::source::Source;

/// What a task gives back to Python.
#[derive(IntoPyObject)]
pub(crate) enum Done {
    /// Items that may be published, with their report.
    Release(Release),
    /// How many items have how many users: (users, items).
    UsersPerItem(Vec<(u32, u64)>),
}

/// Read a source and do what the request of the job asks for.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, source: &Source, job: &Job) -> PyResult<Done> {
    match source.run(py, job)? {
        Outcome::Release(mut release) => {
            release.report.chosen = job.chosen();
            Release::new(py, *release).map(Done::Release)
        }
        Outcome::UsersPerItem(counts) => Ok(Done::UsersPerItem(counts)),
    }
}

/// Refuse missing columns, declared types and files without reading a row, where that is possible.
#[pyfunction]
pub(crate) fn check_source(
    py: Python<'_>,
    source: &Source,
    job: &Job,
    declared: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    source.check(py, job, declared)
}
