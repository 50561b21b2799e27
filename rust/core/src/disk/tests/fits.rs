//! Rows that fit into memory, but whose rounds or counts do not, go to scratch, and no job is too large.

use super::super::top_k::top_k_within;
use super::counts::counted;
use super::orders::REACTIVE;
use super::top_k::{TOP_K, top_k};
use super::*;

const LIMIT: u64 = 1 << 20;

/// Rows of which each user has so many, of items that it alone has or of few that all share.
fn rows(users: i64, each: i64, shared: bool) -> Rows {
    let item = |row: i64| if shared { row % 50 } else { row };
    (0..users * each).map(|row| (row / each, item(row))).collect()
}

/// Whether the rows went to scratch. As many rows as may be are kept in memory while they are read.
fn went_to_disk(
    rows: &[(i64, i64)],
    run: impl Fn(Source, Stages<'_>, ScratchSpace) -> Result<Release>,
) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::new(2.try_into().ok(), Some(LIMIT));
    let memory = Memory { table: LIMIT / 2, ..Memory::new(LIMIT, &control) };
    let space = ScratchSpace { folder: folder.path().into(), limit: None };
    run(source(rows, From::Integers, &folder), Stages { memory, control: &control }, space).unwrap();
    control.progress().is_on_disk()
}

/// With sizes around those at which rows, grouping or rounds begin to need more.
#[test]
fn no_job_with_scratch_ends_at_the_limit() {
    for mechanism in MECHANISMS.iter().chain(&REACTIVE[..11]).filter(|name| !name.contains("prior")) {
        for (each, shared) in [(1, false), (1, true), (5, false)] {
            let beside =
                (!mechanism.contains("one_item")).then(|| counted(mechanism, From::Integers, true, Some(3)));
            for request in beside.into_iter().chain([request(mechanism, From::Integers, 9, 1.0)]) {
                let sizes = [1000, 6000, 8000, 10_000].map(|number| number / each);
                let went = sizes.map(|users| {
                    let run = |rows, stages: Stages<'_>, space| {
                        select_within(rows, &request, &key(), stages, space)
                    };
                    went_to_disk(&rows(users, each, shared), run)
                });
                assert!(!went[0] && went.is_sorted(), "{mechanism}, {each}, {shared}: {went:?}");
            }
        }
    }
}

#[test]
fn no_top_k_with_scratch_ends_at_the_limit() {
    for mechanism in &TOP_K[7..] {
        let request = top_k(*mechanism, "9", From::Integers);
        let went = [1000, 8000, 9000, 9400, 11_000].map(|users| {
            let run = |rows, stages: Stages<'_>, space| top_k_within(rows, &request, &key(), stages, space);
            went_to_disk(&rows(users, 1, false), run)
        });
        assert!(!went[0] && went.is_sorted(), "{mechanism:?}: {went:?}");
    }
}
