//! Requests from JSON, with the public tables that come beside them.

use std::sync::Arc;

use dpsel_core::task::{Request, SelectRequest, TopKRequest};
use pyo3::prelude::*;

use crate::error::{guarded, internal, to_python};
use crate::public::{read_list, read_list_of, read_prior};

/// A request of any task, checked.
pub(crate) fn parse(json: &str) -> PyResult<Request> {
    guarded(|| Request::from_json(json))
}

/// A request of a selection, checked.
pub(crate) fn parse_select(json: &str) -> PyResult<SelectRequest> {
    guarded(|| Request::from_json(json)?.into_select())
}

/// A request of a selection with its public lists, checked.
pub(crate) fn parse_select_with(json: &str, lists: &ListArguments<'_, '_>) -> PyResult<SelectRequest> {
    let mut request = parse_select(json)?;
    lists.read_to(&mut request)?;
    Ok(request)
}

/// A request of a top-k, checked.
pub(crate) fn parse_top_k(json: &str) -> PyResult<TopKRequest> {
    guarded(|| Request::from_json(json)?.into_top_k())
}

/// The public lists of a selection, as `(0, item)`.
pub(crate) struct ListArguments<'a, 'py> {
    pub(crate) excluded: Option<&'a Bound<'py, PyAny>>,
    pub(crate) public: Option<&'a Bound<'py, PyAny>>,
}

impl ListArguments<'_, '_> {
    fn read_to(&self, request: &mut SelectRequest) -> PyResult<()> {
        let read = |list: Option<&Bound<'_, PyAny>>, argument| {
            list.map(|pairs| read_list_of(pairs, &request.columns, argument)).transpose()
        };
        let (excluded, public) = (read(self.excluded, "exclude=")?, read(self.public, "public_items=")?);
        (request.excluded, request.public) = (excluded.map(Arc::new), public.map(Arc::new));
        Ok(())
    }
}

/// A request with its public table: preferences for a selection, the list of items for a top-k.
pub(crate) fn parse_with_table(
    json: &str,
    table: Option<&Bound<'_, PyAny>>,
    lists: &ListArguments<'_, '_>,
) -> PyResult<Request> {
    let mut request = parse(json)?;
    match &mut request {
        Request::Select(request) => {
            request.prior = table.map(|pairs| read_prior(pairs, &request.columns)).transpose()?.map(Arc::new);
            request.item_order().map_err(to_python)?;
            lists.read_to(request)?;
        }
        Request::TopK(request) => {
            request.listed = table.map(|pairs| list_of(request, pairs)).transpose()?.map(Arc::new);
        }
        Request::Count(_) if table.is_some() => return Err(internal("a count has no public table")),
        Request::Count(_) => {}
    }
    Ok(request)
}

/// The public list of a top-k of rows.
pub(crate) fn list_of(
    request: &TopKRequest,
    pairs: &Bound<'_, PyAny>,
) -> PyResult<dpsel_rows::ingest::PublicList> {
    let columns = request.columns.as_ref().ok_or_else(|| internal("no columns were named"))?;
    read_list(pairs, columns)
}
