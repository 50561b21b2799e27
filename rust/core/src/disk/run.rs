//! One entry for every task.

use super::count::users_per_item;
use super::select::select_partitions;
use super::top_k::top_k_from_rows;
use crate::Result;
use crate::ingest::Source;
use crate::random::ReleaseKey;
use crate::runtime::Control;
use crate::scratch::ScratchSpace;
use crate::task::{Outcome, Release, Request};

/// As [`task::run`](crate::task::run). Rows that exceed the memory limit go to scratch, and the outcome is the same.
///
/// # Errors
/// See [`crate::Error`].
pub fn run(
    source: Source,
    request: &Request,
    key: &ReleaseKey,
    control: &Control,
    space: ScratchSpace,
) -> Result<Outcome> {
    let released = |release: Release| Outcome::Release(Box::new(release));
    match request {
        Request::Select(request) => select_partitions(source, request, key, control, space).map(released),
        Request::Count(request) => {
            users_per_item(source, request, key, control, space).map(Outcome::UsersPerItem)
        }
        Request::TopK(request) => top_k_from_rows(source, request, key, control, space).map(released),
    }
}
