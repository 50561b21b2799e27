//! Validation: a parameter is valid from the moment it exists.

use dpsel_core::mechanisms::MechanismSpec;
use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::{Error, Result};
use pyo3::prelude::*;

use crate::arguments::from_python;
use crate::error::guarded;

/// Check the ranges of the parameters that are given, each by itself; dicts are as in requests.
#[pyfunction]
#[pyo3(signature = (*, privacy=None, max_items_per_user=None, mechanism=None))]
pub(crate) fn validate(
    privacy: Option<&Bound<'_, PyAny>>,
    max_items_per_user: Option<i64>,
    mechanism: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let privacy: Option<Privacy> = privacy.map(from_python).transpose()?;
    let mechanism: Option<MechanismSpec> = mechanism.map(from_python).transpose()?;
    guarded(|| {
        privacy.map_or(Ok(()), |privacy| privacy.validate().map(drop))?;
        max_items_per_user.map_or(Ok(()), |items| bound(items).map(drop))?;
        mechanism.map_or(Ok(()), |mechanism| mechanism.as_mechanism().validate())
    })
}

/// The limit, which may be given as a negative number.
pub(crate) fn bound(items: i64) -> Result<L0Bound> {
    let fix = "it is a number of distinct items";
    let negative = |_| Error::parameter("max_items_per_user", "between 1 and 10,000,000", items, fix);
    L0Bound::new(u64::try_from(items).map_err(negative)?)
}
