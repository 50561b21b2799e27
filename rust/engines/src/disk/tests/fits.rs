//! Rows that fit into memory, but whose rounds or counts do not, go to scratch. So no job is too large that memory or the
//! disk can do.

use super::counts::counted;
use super::top_k::{TOP_K, top_k};
use super::*;

const LIMIT: u64 = 1 << 19;

/// Who holds the item of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    /// One user.
    Alone,
    /// Two users.
    ByTwo,
    /// One of fifty items, by many.
    ByMany,
}

/// Rows of users who have so many each.
fn rows(number: i64, each: i64, held: Held) -> Rows {
    let item = |row: i64| match held {
        Held::Alone => row,
        Held::ByTwo => row % (number / 2),
        Held::ByMany => row % 50,
    };
    (0..number).map(|row| (row / each, item(row))).collect()
}

/// Run a job on the disk engine under the limit. As many rows as may be are kept in memory while they are read. Returns the
/// release, and whether rows went to scratch.
fn run_with_scratch(rows: Source, threads: usize, request: &Request) -> (Result<Release>, bool) {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::new(threads.try_into().ok(), Some(LIMIT));
    let memory = Memory { table: LIMIT / 2, ..Memory::new(LIMIT, &control) };
    let space = ScratchSpace { folder: folder.path().into(), limit: None };
    let made = run_within(rows, request, Stages { memory, control: &control }, space);
    (released(made), control.progress().is_on_disk())
}

/// A selection under the limit: it makes the release of memory, and ends with an error only where neither memory nor the disk
/// can do it. Returns whether rows went to scratch. A job that needs half of the limit stays in memory.
fn selected(rows: &[(i64, i64)], request: &SelectRequest, threads: usize) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let in_memory = |limit| {
        let control = Control::new(threads.try_into().ok(), limit);
        task::select_partitions(source(rows, From::Integers, &folder), request, &key(), &control)
    };
    let asked = Request::Select(request.clone());
    let (made, went) = run_with_scratch(source(rows, From::Integers, &folder), threads, &asked);
    match made {
        Ok(release) => assert_eq!(release.items, in_memory(None).unwrap().items),
        // The disk has no room for it either.
        Err(error) => assert!(went && in_memory(Some(LIMIT)).is_err(), "{request:?}: {error}"),
    }
    assert!(!went || in_memory(Some(LIMIT / 2)).is_err(), "{request:?}");
    went
}

/// With sizes around those at which rows, grouping or rounds begin to need more.
#[test]
fn no_job_with_scratch_ends_at_the_limit() {
    for mechanism in MECHANISMS[1..].iter().step_by(2) {
        for (each, held) in [(1, Held::Alone), (1, Held::ByTwo), (1, Held::ByMany), (5, Held::Alone)] {
            let beside =
                (!mechanism.contains("one_item")).then(|| counted(mechanism, From::Integers, true, Some(3)));
            for request in beside.into_iter().chain([request(mechanism, From::Integers, 9, 1.0)]) {
                let sizes = [500, 3000, 3400, 3800, 4500];
                let went = sizes.map(|number| selected(&rows(number, each, held), &request, 2));
                assert!(!went[0] && went.is_sorted(), "{mechanism}, {each}, {held:?}: {went:?}");
            }
        }
    }
}

/// What each thread takes is not what decides.
#[test]
fn no_job_of_many_threads_ends_at_the_limit() {
    for mechanism in [MECHANISMS[1], MECHANISMS[8]] {
        for number in [1500, 2500, 3500] {
            selected(&rows(number, 1, Held::ByTwo), &counted(mechanism, From::Integers, true, None), 64);
        }
    }
}

/// Users are counted in public items that nobody holds.
#[test]
fn a_long_public_list_is_no_reason_to_end_at_the_limit() {
    let listed: Rows = (1000..31_000).map(|item| (0, item)).collect();
    let listed = batch(&listed, From::Integers);
    let request = SelectRequest {
        public_items: Some(ListStamp { items: 30_000, sha256: "0".repeat(64) }),
        public: Some(Arc::new(PublicList::new(listed.schema(), vec![listed]))),
        ..counted(MECHANISMS[8], From::Integers, true, Some(3))
    };
    let went = [500, 2000, 4000, 6000].map(|number| selected(&rows(number, 1, Held::ByMany), &request, 8));
    assert!(!went[0] && went[2], "{went:?}");
}

#[test]
fn no_top_k_with_scratch_ends_at_the_limit() {
    for mechanism in [TOP_K[0], TOP_K[7], TOP_K[9]] {
        let request = Request::TopK(top_k(mechanism, "9", From::Integers));
        let went = [500, 4000, 4500, 4700, 5500].map(|users| {
            let folder = tempfile::tempdir().unwrap();
            let rows = source(&rows(users, 1, Held::Alone), From::Integers, &folder);
            let (made, went) = run_with_scratch(rows, 2, &request);
            made.unwrap();
            went
        });
        assert!(!went[0] && went.is_sorted(), "{mechanism:?}: {went:?}");
    }
}
