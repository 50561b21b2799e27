//! A series of releases: its plan, one release from one state to the next, and files that are sealed.

use dpsel_core::series::{self, Asked, ReleaseRemains, SeriesKeys, SeriesPlan};
use dpsel_exact::Error;
use dpsel_exact::accounting::Privacy;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_rows::ingest::Columns;
use dpsel_rows::runtime::Control;
use dpsel_rows::{contributions, scratch};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::consumer::{Begun, Consumer};
use crate::error::{guarded, internal, to_python};
use crate::export::Release;
use crate::settings::Settings;
use crate::source::Source;
use crate::validate::bound;

/// The plan of a series, as JSON.
#[pyfunction]
#[pyo3(signature = (*, epsilon, delta, rho, releases, max_items_per_user, waits))]
pub(crate) fn series_plan(
    epsilon: Option<f64>,
    delta: f64,
    rho: Option<f64>,
    releases: i64,
    max_items_per_user: i64,
    waits: bool,
) -> PyResult<String> {
    let privacy = privacy_of(epsilon, delta, rho)?;
    guarded(|| {
        let releases = u32::try_from(releases).map_err(|_| Asked::no_number_of_releases(releases))?;
        let max_items_per_user = bound(max_items_per_user)?;
        SeriesPlan::new(Asked { privacy, releases, max_items_per_user, waits })?.to_json()
    })
}

/// The budget of a series.
pub(crate) fn privacy_of(epsilon: Option<f64>, delta: f64, rho: Option<f64>) -> PyResult<Privacy> {
    match (epsilon, rho) {
        (Some(epsilon), None) => Ok(Privacy::ApproxDp { epsilon, delta }),
        (None, Some(rho)) => Ok(Privacy::Zcdp { rho, delta }),
        _ => Err(internal("a series has either an epsilon or a rho")),
    }
}

/// Refuse a plan whose certificate does not hold.
#[pyfunction]
pub(crate) fn series_check(plan: &str) -> PyResult<()> {
    guarded(|| SeriesPlan::from_json(plan).map(drop))
}

/// What one release of a series leaves behind.
#[pyclass(frozen, module = "dpsel._core")]
pub(crate) struct SeriesRelease {
    state: Zeroizing<Vec<u8>>,
    items: Py<Release>,
}

#[pymethods]
impl SeriesRelease {
    /// The state after it, not encrypted.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state)
    }

    /// The state after it, sealed under a key.
    fn sealed_state<'py>(&self, py: Python<'py>, key: &[u8], label: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        seal(py, key, label, &self.state)
    }

    /// The new items, or all that have numbers, with the plan in place of a report.
    #[getter]
    fn items(&self, py: Python<'_>) -> Py<Release> {
        self.items.clone_ref(py)
    }
}

/// A state as Python has it: its bytes, or the label and the bytes under which these are sealed with the secret.
#[derive(FromPyObject)]
pub(crate) enum GivenState {
    Sealed(PyBackedBytes, PyBackedBytes),
    Plain(PyBackedBytes),
}

impl GivenState {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Sealed(label, sealed) => Self::Sealed(label.clone_ref(py), sealed.clone_ref(py)),
            Self::Plain(plain) => Self::Plain(plain.clone_ref(py)),
        }
    }

    /// The bytes of the state.
    fn opened(&self, secret: &ReleaseKey) -> dpsel_exact::Result<Zeroizing<Vec<u8>>> {
        match self {
            Self::Sealed(label, sealed) => scratch::unseal(secret, label, sealed),
            Self::Plain(plain) => Ok(Zeroizing::new(plain.to_vec())),
        }
    }
}

/// What makes a release from its columns, keys, state, rows and deletions.
pub(crate) trait Releases: Clone + Send + 'static {
    fn release(
        &self,
        keys: SeriesKeys<'_>,
        state: Option<Zeroizing<Vec<u8>>>,
        rows: (dpsel_rows::ingest::Source, &Columns),
        forget: &[Digest],
        control: &Control,
    ) -> dpsel_exact::Result<ReleaseRemains>;
}

impl Releases for SeriesPlan {
    fn release(
        &self,
        keys: SeriesKeys<'_>,
        state: Option<Zeroizing<Vec<u8>>>,
        rows: (dpsel_rows::ingest::Source, &Columns),
        forget: &[Digest],
        control: &Control,
    ) -> dpsel_exact::Result<ReleaseRemains> {
        series::release(self, keys, state, rows, forget, control)
    }
}

/// A release of a series, apart from its rows.
pub(crate) struct SeriesJob<P> {
    pub(crate) plan: P,
    secret: ReleaseKey,
    noise: ReleaseKey,
    state: Option<GivenState>,
    columns: Columns,
    forget: Vec<Digest>,
    settings: Settings,
}

impl<P: Releases> SeriesJob<P> {
    /// Of a plan with two keys, of digests and of noise; with the state before, and users to be forgotten.
    pub(crate) fn new(
        plan: P,
        (secret, noise): (&[u8], &[u8]),
        state: Option<GivenState>,
        columns: Columns,
        forget: &[Vec<u8>],
        settings: Settings,
    ) -> PyResult<Self> {
        let (secret, noise) = (key(secret)?, key(noise)?);
        let forget = forget.iter().map(|user| digest(user)).collect::<PyResult<_>>()?;
        Ok(Self { plan, secret, noise, state, columns, forget, settings })
    }

    /// Make the release, with the text of the plan in place of a report.
    pub(crate) fn run(&self, py: Python<'_>, source: &Source, plan: String) -> PyResult<SeriesRelease> {
        let ReleaseRemains { state, items } = source.run(py, self)?;
        let items = Py::new(py, Release::with_text(py, items, plan)?)?;
        Ok(SeriesRelease { state, items })
    }
}

impl<P: Releases> Consumer for SeriesJob<P> {
    type Made = ReleaseRemains;

    fn columns(&self) -> PyResult<&Columns> {
        Ok(&self.columns)
    }

    /// The rows of all releases so far are in the state.
    fn is_long(&self) -> bool {
        self.state.is_some()
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn begin(&self, py: Python<'_>, _few: bool) -> PyResult<Begun<ReleaseRemains>> {
        let (plan, columns) = (self.plan.clone(), self.columns.clone());
        let state = self.state.as_ref().map(|state| state.clone_ref(py));
        let (secret, noise, forget) = (self.secret.clone(), self.noise.clone(), self.forget.clone());
        let run = move |source, control: &Control| {
            let keys = SeriesKeys { secret: &secret, noise: &noise };
            let state = state.map(|state| state.opened(&secret)).transpose()?;
            plan.release(keys, state, (source, &columns), &forget, control)
        };
        Ok((self.settings.control(), Box::new(run)))
    }
}

/// Read the rows of the next release of a series, and make it.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
#[pyo3(signature = (
    plan, secret, state, noise_key, source, columns_json, forget, *, threads=None, memory_limit=None
))]
pub(crate) fn series_release(
    py: Python<'_>,
    plan: String,
    secret: &[u8],
    state: Option<GivenState>,
    noise_key: &[u8],
    source: &Source,
    columns_json: &str,
    forget: Vec<Vec<u8>>,
    threads: Option<i64>,
    memory_limit: Option<i64>,
) -> PyResult<SeriesRelease> {
    let settings = Settings::new(threads, memory_limit, None, false)?;
    let of = guarded(|| SeriesPlan::from_json(&plan))?;
    let keys = (secret, noise_key);
    let job = SeriesJob::new(of, keys, state, columns(columns_json)?, &forget, settings)?;
    job.run(py, source, plan)
}

/// The items of some lists of a series in one table, with the text of the last list.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
pub(crate) fn series_items(py: Python<'_>, lists: Vec<PyRef<'_, Release>>) -> PyResult<Release> {
    let items: Vec<_> = lists.iter().map(|list| list.items().clone()).collect();
    let text = lists.last().map_or(Ok(""), |list| list.text())?.to_owned();
    Release::with_text(py, guarded(|| series::all_items(&items))?, text)
}

/// Finds the digests of the users in some rows.
struct UserDigests {
    secret: ReleaseKey,
    columns: Columns,
    settings: Settings,
}

impl Consumer for UserDigests {
    type Made = Vec<Digest>;

    fn columns(&self) -> PyResult<&Columns> {
        Ok(&self.columns)
    }

    fn is_long(&self) -> bool {
        false
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn begin(&self, _py: Python<'_>, _few: bool) -> PyResult<Begun<Vec<Digest>>> {
        let (secret, columns) = (self.secret.clone(), self.columns.clone());
        let run = move |source, control: &Control| {
            let mut users = contributions::read(source, &columns, None, &secret, control)?.users;
            users.sort_unstable();
            Ok(users)
        };
        Ok((self.settings.control(), Box::new(run)))
    }
}

/// The digests of the users of a source of rows, to be forgotten.
#[pyfunction]
pub(crate) fn series_user_digests<'py>(
    py: Python<'py>,
    secret: &[u8],
    source: &Source,
    columns_json: &str,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let settings = Settings::new(None, None, None, false)?;
    let job = UserDigests { secret: key(secret)?, columns: columns(columns_json)?, settings };
    let users = source.run(py, &job)?;
    Ok(users.into_iter().map(|user| PyBytes::new(py, &user.0.to_le_bytes())).collect())
}

/// Seal bytes under a key.
#[pyfunction]
pub(crate) fn seal<'py>(
    py: Python<'py>,
    key: &[u8],
    label: &[u8],
    plain: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let key = self::key(key)?;
    let sealed = py.detach(|| guarded(|| scratch::seal(&key, label, plain)))?;
    Ok(PyBytes::new(py, &sealed))
}

/// What was sealed under this key and label.
#[pyfunction]
pub(crate) fn unseal<'py>(
    py: Python<'py>,
    key: &[u8],
    label: &[u8],
    sealed: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let key = self::key(key)?;
    let plain = py.detach(|| guarded(|| scratch::unseal(&key, label, sealed)))?;
    Ok(PyBytes::new(py, &plain))
}

/// A keyed digest of bytes.
#[pyfunction]
pub(crate) fn tag<'py>(py: Python<'py>, key: &[u8], data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &scratch::tag(&self::key(key)?, data)))
}

fn key(given: &[u8]) -> PyResult<ReleaseKey> {
    let bytes = given.try_into().map_err(|_| {
        let fix = "give the key as it was made";
        to_python(Error::parameter("key", "exactly 32 bytes", format!("{} bytes", given.len()), fix))
    })?;
    Ok(ReleaseKey::kept(bytes))
}

fn digest(given: &[u8]) -> PyResult<Digest> {
    let bytes = given.try_into().map_err(|_| internal("a user to forget is no digest"))?;
    Ok(Digest(u128::from_le_bytes(bytes)))
}

pub(crate) fn columns(json: &str) -> PyResult<Columns> {
    let columns: Columns = serde_json::from_str(json).map_err(|_| internal("columns of an unknown form"))?;
    columns.validate().map_err(to_python)?;
    Ok(columns)
}
