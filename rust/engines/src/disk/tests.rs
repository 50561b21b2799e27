//! The release from the disk is the one from memory, bit for bit.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use dpsel_core::task::{
    self, Calibrated, JobSpec, ListStamp, Outcome, Release, Request, SelectRequest, run_on,
};
use dpsel_exact::random::{Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{PublicList, Source, item_schema};
use dpsel_rows::runtime::Control;
use dpsel_rows::scratch::ScratchSpace;
use proptest::prelude::*;
use tempfile::TempDir;

use super::engine::DiskEngine;
use super::reading::Lookup;
use super::threads::{Memory, Stages, WEIGHED};
use super::*;
use crate::exchange::ExchangeJob;
use crate::exchange::tests::caps::rare_and_common;

mod counts;
mod divided;
mod errors;
mod fits;
mod lines;
mod together;
mod top_k;

type Rows = Vec<(i64, i64)>;

/// Where the rows come from.
#[derive(Debug, Clone, Copy)]
enum From {
    Integers,
    Texts,
    Pairs,
    Undeclared,
    File,
}

const ALL: [From; 5] = [From::Integers, From::Texts, From::Pairs, From::Undeclared, From::File];

const MECHANISMS: [&str; 10] = [
    r#"{"name": "count_laplace"}"#,
    r#"{"name": "count_gaussian"}"#,
    r#"{"name": "weighted_laplace"}"#,
    r#"{"name": "weighted_gaussian", "release": "noise"}"#,
    r#"{"name": "weighted_gaussian", "release": "curve"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "noise"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "curve"}"#,
    r#"{"name": "one_item"}"#,
    r#"{"name": "steered", "rounds": 5}"#,
    r#"{"name": "steered", "rounds": 1, "reach": 2}"#,
];

fn key() -> ReleaseKey {
    ReleaseKey::insecure_test([3; 32])
}

fn request(mechanism: &str, from: From, bound: u32, epsilon: f64) -> SelectRequest {
    let bound = if mechanism.contains("one_item") { 1 } else { bound };
    let items = if matches!(from, From::Pairs) { r#"["item", "more"]"# } else { r#"["item"]"# };
    let without = ["curve", "one_item", "mad", "greedy", "matching"];
    let with_weights = !without.iter().any(|name| mechanism.contains(name));
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": {items}}}, "max_items_per_user": {bound},
             "privacy": {{"kind": "approx_dp", "epsilon": {epsilon:?}, "delta": 1e-2}},
             "mechanism": {mechanism}, "with_weights": {with_weights}}}"#
    ))
    .and_then(Request::into_select)
    .unwrap()
}

/// Texts beyond one block of the cipher, and shorter ones.
fn name(item: i64) -> String {
    if item % 2 == 0 { format!("an item with a longer name {item}") } else { format!("{item}") }
}

fn batch(rows: &[(i64, i64)], from: From) -> RecordBatch {
    let users: ArrayRef = Arc::new(rows.iter().map(|(user, _)| *user).collect::<Int64Array>());
    let texts: ArrayRef =
        Arc::new(rows.iter().map(|(_, item)| (*item >= 0).then(|| name(*item))).collect::<StringArray>());
    let integers: ArrayRef =
        Arc::new(rows.iter().map(|(_, item)| (*item >= 0).then_some(*item)).collect::<Int64Array>());
    let columns = match from {
        From::Texts | From::File => vec![("user", users), ("item", texts)],
        From::Integers | From::Undeclared => vec![("user", users), ("item", integers)],
        From::Pairs => vec![("user", users), ("item", texts), ("more", integers)],
    };
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, name != "user")),
    )
    .unwrap()
}

fn source(rows: &[(i64, i64)], from: From, folder: &TempDir) -> Source {
    let batches: Vec<_> = rows.chunks(7000).map(|part| Ok(batch(part, from))).collect();
    let reader = Box::new(RecordBatchIterator::new(batches, batch(&[], from).schema()));
    match from {
        From::Integers | From::Texts | From::Pairs => Source::Stream(reader),
        From::Undeclared => Source::Undeclared(reader, vec!["item".into()]),
        From::File => {
            let mut text = String::from("user,item\n");
            for (user, item) in rows.iter().filter(|(_, item)| *item >= 0) {
                writeln!(text, "{user},{}", name(*item)).unwrap();
            }
            let path = folder.path().join("rows.csv");
            std::fs::write(&path, text).unwrap();
            Source::Files(vec![path], None)
        }
    }
}

/// So little memory that hardly any row stays, and many tasks.
fn little(table: u64, threads: usize) -> Memory {
    Memory {
        limit: 1 << 40,
        table,
        stage: 1 << 39,
        threads,
        rows: 50,
        buckets: 5,
        summed: 30,
        coded: usize::MAX,
        straight: 200,
        written: 300,
        block_rows: 1 << 8,
    }
}

/// Run a task with a given division of the memory.
fn run_within(source: Source, request: &Request, stages: Stages<'_>, space: ScratchSpace) -> Result<Outcome> {
    run_on(&DiskEngine::new(&key(), stages, space)?, source, request, &key())
}

fn released(made: Result<Outcome>) -> Result<Release> {
    match made? {
        Outcome::Release(release) => Ok(*release),
        Outcome::UsersPerItem(_) => panic!("numbers of users are no release"),
    }
}

fn on_disk(
    source: Source,
    request: &SelectRequest,
    memory: Memory,
    limit: Option<u64>,
    control: &Control,
) -> Result<Release> {
    let folder = tempfile::tempdir().unwrap();
    let space = ScratchSpace { folder: folder.path().into(), limit };
    let made =
        released(run_within(source, &Request::Select(request.clone()), Stages { memory, control }, space));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    made
}

/// Releases from memory and from the disk, which are the same; returns the number of items.
fn same(rows: &[(i64, i64)], from: From, request: &SelectRequest, memory: Memory) -> usize {
    let files = tempfile::tempdir().unwrap();
    let control = Control::new(memory.threads.try_into().ok(), None);
    let here =
        task::select_partitions(source(rows, from, &files), request, &key(), &Control::default()).unwrap();
    let there = on_disk(source(rows, from, &files), request, memory, None, &control).unwrap();
    assert_eq!(there.items, here.items, "{:?}, {from:?}", request.mechanism);
    assert_eq!(there.items.schema(), here.items.schema());
    assert_eq!(there.report, here.report);
    here.items.num_rows()
}

/// Users with up to sixty items, frequent and rare ones; some rows stand twice, and some items are null.
fn some_rows(users: i64) -> Rows {
    let mut state = 5_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut rows = Rows::new();
    for user in 0..users {
        let most = if draw(8) == 0 { 60 } else { 12 };
        for _ in 0..=draw(most) {
            let (one, two) = (draw(300), draw(300));
            rows.push((user, (one * two / 300).cast_signed()));
        }
        if draw(9) == 0 {
            rows.push((user, -1));
        }
    }
    rows.extend_from_within(..100);
    rows
}

#[test]
fn every_mechanism_and_source_makes_the_release_of_memory() {
    let rows = some_rows(400);
    for (n, mechanism) in MECHANISMS.iter().enumerate() {
        for from in ALL {
            let found = same(&rows, from, &request(mechanism, from, 9, 3.0), little(2000, 1 + n % 3));
            assert!((1..280).contains(&found), "{mechanism}: {found}");
        }
    }
}

/// So many rows that several threads read, and that the table is emptied while they do.
#[test]
fn threads_that_fill_one_table_make_the_release_of_memory() {
    let mut rows = some_rows(12_000);
    rows.sort_by_key(|(user, item)| (user.wrapping_mul(0x9e37_79b9), *item));
    for from in ALL {
        let request = request(MECHANISMS[5], from, 5, 0.5);
        for (table, threads) in [(1 << 16, 4), (1 << 20, 2)] {
            let memory = Memory { rows: 3000, ..little(table, threads) };
            assert!(same(&rows, from, &request, memory) > 20);
        }
    }
}

/// Rows side by side go straight to the disk, and so do scattered ones of many users. Scattered rows of few users go
/// through tables again and again.
#[test]
fn scattered_rows_make_the_release_of_memory() {
    for (users, table, bound, epsilon) in [(3000, 20_000, 9, 1.0), (100, 60_000, 100, 8.0)] {
        let mut rows: Rows = some_rows(3000).into_iter().map(|(user, item)| (user % users, item)).collect();
        let mut scattered: Vec<(usize, (i64, i64))> = rows.iter().copied().enumerate().collect();
        scattered.sort_by_key(|(at, _)| at.wrapping_mul(0x9e37_79b9) % 65_536);
        for _ in 0..2 {
            for (from, mechanism) in [(From::Integers, 5), (From::File, 8), (From::Texts, 3)] {
                let request = request(MECHANISMS[mechanism], from, bound, epsilon);
                assert!(same(&rows, from, &request, little(table, 2)) > 5);
            }
            rows = scattered.iter().map(|(_, row)| *row).collect();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn few_rows_make_the_release_of_memory(
        rows in prop::collection::vec((0_i64..12, -1_i64..8), 1..60),
        mechanism in prop::sample::select(&MECHANISMS[..]),
        from in prop::sample::select(&ALL[..]),
        bound in 1_u32..4,
        threads in 1_usize..4,
        buckets in 1_u32..9,
    ) {
        let memory = Memory { buckets, ..little(0, threads) };
        same(&rows, from, &request(mechanism, from, bound, 3.0), memory);
    }
}

#[test]
fn users_with_caps_make_the_release_of_memory() {
    let rows = rare_and_common(60, 62);
    for epsilon in [3.0, 8.0] {
        let request = request(r#"{"name": "steered", "rounds": 10}"#, From::Integers, 60, epsilon);
        assert!(same(&rows, From::Integers, &request, little(20_000, 2)) > 0);
    }
}

/// The same request with a list of items that are left out, one of items that come out, and a least number of users.
fn with_lists(request: SelectRequest, from: From, min_users: u32) -> SelectRequest {
    let list = |items: [i64; 3]| {
        let rows = batch(&items.map(|item| (0, item)), from);
        Some(Arc::new(PublicList::new(rows.schema(), vec![rows])))
    };
    let stamp = Some(ListStamp { items: 3, sha256: "0".repeat(64) });
    SelectRequest {
        min_users,
        exclude: stamp.clone(),
        excluded: list([0, 1, 2]),
        public_items: stamp,
        public: list([3, 4, 100_000]),
        ..request
    }
}

#[test]
fn public_lists_and_a_least_number_of_users_hold_on_the_disk() {
    let rows = some_rows(400);
    for (n, from) in ALL.into_iter().enumerate() {
        for (mechanism, min_users) in [(MECHANISMS[1], 25), (MECHANISMS[5], 2), (MECHANISMS[8], 1)] {
            let plain = request(mechanism, from, 9, 3.0);
            let found = same(&rows, from, &with_lists(plain, from, min_users), little(2000, 1 + n % 3));
            assert!(found >= 3, "{mechanism}: {found}");
        }
    }
}

#[test]
fn what_fits_into_memory_stays_there() {
    let files = tempfile::tempdir().unwrap();
    let rows = some_rows(300);
    let request = request(MECHANISMS[5], From::Texts, 9, 3.0);
    let select = |table| {
        let control = Control::default();
        on_disk(source(&rows, From::Texts, &files), &request, little(table, 2), Some(1000), &control)
    };
    assert!(select(1 << 30).is_ok());
    assert!(matches!(select(1 << 10), Err(Error::File { reason, .. }) if reason.contains("scratch_limit")));
}

#[test]
fn a_limit_sends_rows_to_the_disk_and_none_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let rows = some_rows(20_000);
    let request = Request::Select(request(MECHANISMS[5], From::Integers, 9, 3.0));
    let select = |limit, space: u64| {
        let control = Control::new(None, limit);
        let space = ScratchSpace { folder: folder.path().into(), limit: Some(space) };
        released(run(source(&rows, From::Integers, &folder), &request, &key(), &control, space))
    };
    let here = select(None, 0).unwrap();
    assert_eq!(select(Some(600_000), u64::MAX).unwrap().items, here.items);
    assert!(matches!(select(Some(600_000), 0), Err(Error::File { .. })));
}
