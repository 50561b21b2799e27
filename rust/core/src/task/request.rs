//! A request: one call apart from its data and its key, which says its task.

use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{Columns, DOMAIN, Declared};
use serde::{Deserialize, Serialize};

use super::calibration::{Calibrated, Enforced};
use super::count::CountRequest;
use super::select::SelectRequest;
use super::top_k::TopKRequest;

/// A request of one task. In JSON the field `task` is `select`, `count` or `top_k`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Request {
    /// The items that may be published.
    Select(SelectRequest),
    /// The number of items for each number of users. Exact, for public data only.
    Count(CountRequest),
    /// The items that most users hold.
    TopK(TopKRequest),
}

impl Request {
    /// Read from JSON and check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range,
    /// [`Error::Report`] for JSON that is not a request.
    pub fn from_json(json: &str) -> Result<Self> {
        let request: Self = serde_json::from_str(json).map_err(|e| Error::Report(e.to_string()))?;
        request.validate()
    }

    /// Check every parameter.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn validate(self) -> Result<Self> {
        Ok(match self {
            Self::Select(request) => Self::Select(request.validate()?),
            Self::Count(request) => Self::Count(request.validate()?),
            Self::TopK(request) => Self::TopK(request.validate()?),
        })
    }

    /// The columns that are read.
    ///
    /// # Errors
    /// [`Error::Internal`] for a top-k of counts, which has none.
    pub fn columns(&self) -> Result<&Columns> {
        match self {
            Self::Select(request) => Ok(&request.columns),
            Self::Count(request) => Ok(&request.columns),
            Self::TopK(request) => request.columns.as_ref().ok_or(Error::Internal("no columns were named")),
        }
    }

    /// Refuse public lists whose items cannot be items of the data, as far as it declares types.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the list.
    pub fn check_lists(&self, data: &Declared) -> Result<()> {
        let Some(types) = data.types() else { return Ok(()) };
        match self {
            Self::Select(request) => request.check_lists(types),
            Self::TopK(TopKRequest { listed: Some(list), columns: Some(columns), .. }) => {
                list.in_types_of(types, columns, DOMAIN).map(drop)
            }
            Self::Count(_) | Self::TopK(_) => Ok(()),
        }
    }

    /// The request with the numbers that meet it.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`] and [`TopKRequest::calibrate`]; [`Error::Internal`] for a count, which has no
    /// numbers.
    pub fn calibrate(self) -> Result<Enforced> {
        match self {
            Self::Select(request) => {
                let calibration = request.calibrate()?;
                Ok(Enforced::Select(Calibrated::of(request, calibration)))
            }
            Self::Count(_) => Err(Error::Internal("an exact count has no calibration")),
            Self::TopK(request) => {
                let calibration = request.calibrate()?;
                Ok(Enforced::TopK(Calibrated::of(request, calibration)))
            }
        }
    }

    /// The request, if it is one of a selection.
    ///
    /// # Errors
    /// [`Error::Internal`] if it asks for another task.
    pub fn into_select(self) -> Result<SelectRequest> {
        match self {
            Self::Select(request) => Ok(request),
            Self::Count(_) | Self::TopK(_) => Err(Error::Internal("the request is not one of a selection")),
        }
    }

    /// The request, if it is one of a top-k.
    ///
    /// # Errors
    /// [`Error::Internal`] if it asks for another task.
    pub fn into_top_k(self) -> Result<TopKRequest> {
        match self {
            Self::TopK(request) => Ok(request),
            Self::Select(_) | Self::Count(_) => Err(Error::Internal("the request is not one of a top-k")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &str = r#""columns": {"user": "u", "items": ["i"]}"#;

    #[test]
    fn a_request_says_its_task() {
        let count = Request::from_json(&format!(r#"{{"task": "count", {COLUMNS}}}"#)).unwrap();
        assert_eq!(count.columns().unwrap().items, ["i"]);
        assert!(count.clone().into_select().is_err() && count.clone().into_top_k().is_err());
        assert!(count.calibrate().is_err());
        let select = format!(
            r#""privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}}, "max_items_per_user": 1,
               "mechanism": {{"name": "one_item"}}, "with_weights": false, {COLUMNS}"#
        );
        let made = Request::from_json(&format!(r#"{{"task": "select", {select}}}"#)).unwrap();
        assert!(matches!(made.clone().calibrate(), Ok(Enforced::Select(_))));
        assert!(made.clone().into_top_k().is_err() && made.into_select().is_ok());
        // Without a task, or with the fields of another one, nothing is guessed.
        for refused in [format!("{{{select}}}"), format!(r#"{{"task": "count", {select}}}"#)] {
            assert!(matches!(Request::from_json(&refused), Err(Error::Report(_))), "{refused}");
        }
        let unknown = format!(r#"{{"task": "sort", {select}}}"#);
        assert!(
            matches!(Request::from_json(&unknown), Err(Error::Report(text)) if text.contains("`select`"))
        );
    }
}
