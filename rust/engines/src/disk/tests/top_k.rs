//! A top-k from the disk is the one from memory, bit for bit.

use dpsel_core::task::{CountRequest, TopKRequest, top_k_from_rows, users_per_item};

use super::*;

pub(super) const TOP_K: [(&str, &str); 11] = [
    (r#"{"name": "joint"}"#, "listed"),
    (r#"{"name": "joint_set"}"#, "listed"),
    (r#"{"name": "gumbel_peel"}"#, "listed"),
    (r#"{"name": "permute_flip_peel"}"#, "listed"),
    (r#"{"name": "permute_flip_joint"}"#, "listed"),
    (r#"{"name": "gamma"}"#, "listed"),
    (r#"{"name": "laplace_top_k"}"#, "listed"),
    (r#"{"name": "limit_domain"}"#, "unknown"),
    (r#"{"name": "limit_domain", "candidates": 90}"#, "unknown"),
    (r#"{"name": "discover", "share": 0.5, "ordered": false}"#, "unknown"),
    (r#"{"name": "select_and_count", "share": 0.5, "max_counted_items": 2}"#, "unknown"),
];

pub(super) fn top_k((mechanism, domain): (&str, &str), bound: &str, from: From) -> TopKRequest {
    // Counts that are noisy already get no noise on top.
    let free = mechanism.contains("select_and_count");
    let counts = if free { r#"{"kind": "free"}"# } else { r#"{"kind": "laplace", "epsilon": 0.5}"# };
    let items = if matches!(from, From::Pairs) { r#"["item", "more"]"# } else { r#"["item"]"# };
    let request = Request::from_json(&format!(
        r#"{{"task": "top_k", "columns": {{"user": "user", "items": {items}}}, "k": 7,
             "privacy": {{"kind": "approx_dp", "epsilon": 6.0, "delta": 1e-2}}, "mechanism": {mechanism},
             "max_items_per_user": {bound}, "domain": {{"kind": "{domain}"}},
             "counts": {counts}}}"#
    ));
    let listed: Rows = (0..320).step_by(2).map(|item| (0, item)).collect();
    let list = batch(&listed, from);
    let list = (domain == "listed").then(|| Arc::new(PublicList::new(list.schema(), vec![list])));
    TopKRequest { listed: list, ..request.and_then(Request::into_top_k).unwrap() }
}

fn same_top_k(rows: &[(i64, i64)], from: From, request: &TopKRequest, memory: Memory) -> usize {
    let (files, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let control = Control::new(memory.threads.try_into().ok(), None);
    let space = ScratchSpace { folder: folder.path().into(), limit: None };
    let here = top_k_from_rows(source(rows, from, &files), request, &key(), &Control::default()).unwrap();
    let stages = Stages { memory, control: &control };
    let asked = Request::TopK(request.clone());
    let there = released(run_within(source(rows, from, &files), &asked, stages, space)).unwrap();
    assert_eq!(there.items, here.items, "{:?}, {from:?}", request.mechanism);
    assert_eq!(there.items.schema(), here.items.schema());
    assert_eq!(there.report, here.report);
    here.items.num_rows()
}

/// Whether users have to be bounded.
pub(super) fn selects_first(mechanism: &str) -> bool {
    mechanism.contains("discover") || mechanism.contains("select_and_count")
}

#[test]
fn every_top_k_and_source_makes_the_draw_of_memory() {
    let rows = some_rows(400);
    for (n, mechanism) in TOP_K.into_iter().enumerate() {
        for bound in ["null", "5"].into_iter().filter(|bound| !selects_first(mechanism.0) || *bound == "5") {
            for from in ALL {
                let request = top_k(mechanism, bound, from);
                assert!(same_top_k(&rows, from, &request, little(2000, 1 + n % 3)) > 0, "{mechanism:?}");
                assert!(same_top_k(&rows, from, &request, little(1 << 40, 2)) > 0, "{mechanism:?}");
            }
        }
    }
}

#[test]
fn a_limit_sends_rows_of_a_top_k_to_the_disk_and_none_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let rows = some_rows(20_000);
    let request = Request::TopK(top_k(TOP_K[7], "null", From::Integers));
    let draw = |limit, space: u64| {
        let control = Control::new(None, limit);
        let space = ScratchSpace { folder: folder.path().into(), limit: Some(space) };
        released(run(source(&rows, From::Integers, &folder), &request, &key(), &control, space))
    };
    let here = draw(None, 0).unwrap();
    assert_eq!(draw(Some(4_000_000), u64::MAX).unwrap().items, here.items);
    assert!(matches!(draw(Some(600_000), 0), Err(Error::File { .. })));
}

#[test]
fn numbers_of_users_are_those_of_memory() {
    let (rows, files) = (some_rows(400), tempfile::tempdir().unwrap());
    for from in ALL {
        let columns = request(MECHANISMS[0], from, 9, 3.0).columns;
        let request = CountRequest { columns };
        let here = users_per_item(source(&rows, from, &files), &request, &key(), &Control::default());
        let control = Control::default();
        let count = |table| {
            let folder = tempfile::tempdir().unwrap();
            let space = ScratchSpace { folder: folder.path().into(), limit: None };
            let stages = Stages { memory: little(table, 2), control: &control };
            let request = Request::Count(request.clone());
            match run_within(source(&rows, from, &files), &request, stages, space).unwrap() {
                Outcome::UsersPerItem(counts) => counts,
                Outcome::Release(_) => panic!("a release is no number of users"),
            }
        };
        let here = here.unwrap();
        assert!(here.len() > 5);
        assert_eq!([count(2000), count(1 << 40)], [here.clone(), here]);
    }
}
