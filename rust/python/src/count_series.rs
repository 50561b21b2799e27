//! A series of numbers: its plan, and one release from one state to the next.

use dpsel_core::series::counts::{CountsAsked, CountsPlan, CountsUnit, release_counts};
use dpsel_core::series::{Asked, ReleaseRemains, SeriesKeys};
use dpsel_exact::random::Digest;
use dpsel_rows::ingest::{Columns, PublicList};
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::error::guarded;
use crate::public::read_list_of;
use crate::series::{GivenState, Releases, SeriesJob, SeriesRelease, columns, privacy_of};
use crate::settings::Settings;
use crate::source::Source;
use crate::validate::bound;

/// The plan of a series of numbers, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
#[pyo3(signature = (
    *, epsilon, delta, rho, releases, window, max_items_per_user, max_releases_per_item, is_of_one_release
))]
pub(crate) fn count_series_plan(
    epsilon: Option<f64>,
    delta: f64,
    rho: Option<f64>,
    releases: i64,
    window: i64,
    max_items_per_user: i64,
    max_releases_per_item: i64,
    is_of_one_release: bool,
) -> PyResult<String> {
    let privacy = privacy_of(epsilon, delta, rho)?;
    let unit = if is_of_one_release { CountsUnit::UserRelease } else { CountsUnit::User };
    guarded(|| {
        let releases = u32::try_from(releases).map_err(|_| Asked::no_number_of_releases(releases))?;
        let max_items_per_user = bound(max_items_per_user)?;
        let window = u32::try_from(window).map_err(|_| CountsAsked::no_window(window))?;
        let max_releases_per_item = u32::try_from(max_releases_per_item)
            .map_err(|_| CountsAsked::no_releases_per_item(max_releases_per_item))?;
        let asked =
            CountsAsked { privacy, releases, window, max_items_per_user, max_releases_per_item, unit };
        CountsPlan::new(asked)?.to_json()
    })
}

/// Refuse a plan of a series of numbers whose certificate does not hold.
#[pyfunction]
pub(crate) fn count_series_check(plan: &str) -> PyResult<()> {
    guarded(|| CountsPlan::from_json(plan).map(drop))
}

/// A plan, and items that are named now.
#[derive(Clone)]
struct Counts {
    plan: CountsPlan,
    named: Option<PublicList>,
}

impl Releases for Counts {
    fn release(
        &self,
        keys: SeriesKeys<'_>,
        state: Option<Zeroizing<Vec<u8>>>,
        rows: (dpsel_rows::ingest::Source, &Columns),
        forget: &[Digest],
        control: &Control,
    ) -> dpsel_exact::Result<ReleaseRemains> {
        release_counts(&self.plan, keys, state, rows, self.named.as_ref(), forget, control)
    }
}

/// Read the rows of the next release of a series of numbers, and make it.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
#[pyo3(signature = (
    plan, secret, state, noise_key, source, columns_json, forget, named, *, threads=None, memory_limit=None
))]
pub(crate) fn count_series_release(
    py: Python<'_>,
    plan: String,
    secret: &[u8],
    state: Option<GivenState>,
    noise_key: &[u8],
    source: &Source,
    columns_json: &str,
    forget: Vec<Vec<u8>>,
    named: Option<&Bound<'_, PyAny>>,
    threads: Option<i64>,
    memory_limit: Option<i64>,
) -> PyResult<SeriesRelease> {
    let columns = columns(columns_json)?;
    let named = named.map(|pairs| read_list_of(pairs, &columns, "items=")).transpose()?;
    let settings = Settings::new(threads, memory_limit, None, false)?;
    let of = Counts { plan: guarded(|| CountsPlan::from_json(&plan))?, named };
    SeriesJob::new(of, (secret, noise_key), state, columns, &forget, settings)?.run(py, source, plan)
}
