//! One entry for every task.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;

use super::count::users_per_item_on;
use super::engine::Engine;
use super::memory::MemoryEngine;
use super::report::Release;
use super::request::Request;
use super::select::select_on;
use super::top_k::top_k_on;

/// The result of a task.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Items that may be published, with their report.
    Release(Box<Release>),
    /// The number of items for each number of users, as (users, items). Not private.
    UsersPerItem(Vec<(u32, u64)>),
}

/// Reads the rows and runs the task of the request.
///
/// The result is a function of the set of rows, the request and the key alone (law 1).
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub fn run(source: Source, request: &Request, key: &ReleaseKey, control: &Control) -> Result<Outcome> {
    run_on(&MemoryEngine { key, control }, source, request, key)
}

/// The same on any engine.
///
/// # Errors
/// See [`dpsel_exact::Error`].
pub fn run_on(engine: &dyn Engine, source: Source, request: &Request, key: &ReleaseKey) -> Result<Outcome> {
    let released = |release: Release| Outcome::Release(Box::new(release));
    match request {
        Request::Select(request) => select_on(engine, source, request, key).map(released),
        Request::Count(request) => users_per_item_on(engine, source, request).map(Outcome::UsersPerItem),
        Request::TopK(request) => top_k_on(engine, source, request, key).map(released),
    }
}
