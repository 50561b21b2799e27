//! The stages in one process: the same release as the local engine's.

use std::num::NonZeroU32;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use proptest::prelude::*;

use self::simulation::*;
use super::census::Candidates;
use super::dictionary::Dictionaries;
use super::packing::take_items;
use super::routing::unrouted;
use super::*;
use crate::random::{Digest, Words};
use crate::rounds::Decider;
use crate::runtime::Control;
use crate::task::{Request, SelectRequest, select_partitions};
use crate::weighting::UNIT;

mod simulation;
mod top_k;

fn request(mechanism: &str, bound: u32, with_weights: bool) -> SelectRequest {
    request_with(mechanism, 3.0, bound, with_weights)
}

fn request_with(mechanism: &str, epsilon: f64, bound: u32, with_weights: bool) -> SelectRequest {
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": ["item"]}},
             "privacy": {{"kind": "approx_dp", "epsilon": {epsilon:?}, "delta": 1e-2}},
             "max_items_per_user": {bound}, "mechanism": {mechanism}, "with_weights": {with_weights}}}"#
    ))
    .and_then(Request::into_select)
    .unwrap()
}

/// In both ways, with every idea of what few users are, and with released items listed or joined.
fn same(table: Made, rows: &[(i64, i64)], request: &SelectRequest, partitions: usize) -> usize {
    let here = select_partitions(source_of(table(rows)), request, &key(), &Control::default()).unwrap();
    for (few, bits) in [(-1, 0), (1, 0), (4, 0), (-1, 1), (1, 9)] {
        let there = on_cluster(table, rows, request, partitions, few, NonZeroU32::new(bits));
        assert_eq!(there.items, here.items, "{:?}, {few}, {bits}", request.mechanism);
        assert_eq!(there.report, here.report);
    }
    here.items.num_rows()
}

/// Users with up to sixty items, frequent and rare ones; some rows stand twice.
fn some_rows() -> Rows {
    let mut state = 5_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut rows = Rows::new();
    for user in 0..400 {
        let most = if draw(8) == 0 { 60 } else { 12 };
        for _ in 0..=draw(most) {
            let (one, two) = (draw(300), draw(300));
            rows.push((user, (one * two / 300).cast_signed()));
        }
    }
    rows.extend_from_within(..100);
    rows
}

const MECHANISMS: [&str; 8] = [
    r#"{"name": "count_laplace"}"#,
    r#"{"name": "count_gaussian"}"#,
    r#"{"name": "weighted_laplace"}"#,
    r#"{"name": "weighted_gaussian", "release": "noise"}"#,
    r#"{"name": "weighted_gaussian", "release": "curve"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "noise"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "curve"}"#,
    r#"{"name": "steered", "rounds": 12}"#,
];

#[test]
fn a_cluster_makes_the_local_release() {
    let rows = some_rows();
    for mechanism in MECHANISMS {
        for (table, partitions) in [(table as Made, 1), (texts as Made, 5)] {
            let with_weights = !mechanism.contains("curve");
            let found = same(table, &rows, &request(mechanism, 9, with_weights), partitions);
            assert!((1..280).contains(&found), "{mechanism}: {found}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn few_rows_make_the_local_release(
        rows in prop::collection::vec((0_i64..12, 0_i64..6), 1..60), partitions in 1_usize..5, bound in 1_u32..4,
    ) {
        for mechanism in [MECHANISMS[5], MECHANISMS[7]] {
            same(table, &rows, &request(mechanism, bound, false), partitions);
        }
    }
}

#[test]
fn a_census_leaves_hardly_anything_to_send() {
    let rows: Rows = (0..3000).map(|user| (user, if user % 2 == 0 { -1 } else { user })).collect();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request_with(MECHANISMS[5], 0.5, 9, false), &schema, key()).unwrap();
    let plan = selection.plan();
    assert!(plan.few() >= 2, "{}", plan.few());
    let cluster = Cluster::new(plan, table, &rows, 2);
    let sent = |few: i64| {
        let weigh = || plan.weigh(ROUTES, 0, Known::default()).unwrap();
        let settled = cluster.settled(few);
        let made: Vec<RecordBatch> = settled.iter().flat_map(|part| run(weigh(), part)).collect();
        [packed(&settled.concat()).len(), packed(&made).len()]
    };
    let (all, few) = (sent(-1), sent(plan.few().into()));
    assert!(few[0] * 5 < all[0] && few[1] * 20 < all[1], "{few:?} of {all:?}");
}

/// Where users keep one item and nearly all that is frequent is gone after a round, the whole reserve matters.
#[test]
fn long_reserves_move_up_in_their_order() {
    let rows: Rows = (0..400)
        .flat_map(|user| {
            let common = (0..30).map(move |item| (user, item));
            common.chain((0..12).map(move |n| (user, 100 + (user * 7 + n * 11) % 60)))
        })
        .collect();
    let found = same(table, &rows, &request_with(MECHANISMS[5], 30.0, 1, true), 3);
    assert!(found > 40, "{found}");
}

/// An item is left out if no round can release it, and only then.
#[test]
fn candidates_are_those_of_any_round() {
    let schema: Schema = table(&[]).schema().as_ref().clone();
    let selection = Selection::new(request_with(MECHANISMS[5], 0.3, 9, false), &schema, key()).unwrap();
    let deciders = || selection.plan().deciders().unwrap();
    let items: Vec<Digest> = (0..3000).map(Digest).collect();
    let by_round = |users: u32| -> Vec<Vec<bool>> {
        let releases = |(rule, words): &(Decider, Words), item: &Digest| {
            rule.releases(u64::from(users) * UNIT, words.word(*item))
        };
        deciders().iter().map(|round| items.iter().map(|item| releases(round, item)).collect()).collect()
    };
    let some = |round: &Vec<bool>| (5..2900).contains(&round.iter().filter(|may| **may).count());
    let users = (1..200).find(|users| by_round(*users).iter().all(some)).unwrap();
    let candidates = Candidates::new(MostUsers::unpack(users, &[]).unwrap(), deciders());
    let rounds = by_round(users);
    for (at, found) in candidates.most_users(&items).into_iter().enumerate() {
        assert_eq!(found, rounds.iter().any(|round| round[at]).then_some(users));
    }
}

#[test]
fn stages_refuse_what_is_not_theirs() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[5], 9, false), &schema, key()).unwrap();
    let plan = selection.plan();
    assert!(plan.tilt(ROUTES, 0).is_err() && plan.steer(0).is_err() && plan.decide(3).is_err());
    assert!(plan.weigh(0, 0, Known::default()).is_err());
    let encoded = run(plan.encode(ROUTES, false).unwrap(), &[table(&rows)]);
    let mut backwards = shuffled(encoded, 1).concat();
    backwards.reverse();
    let mut settle = plan.settle(None).unwrap();
    assert!(backwards.into_iter().any(|batch| settle.push(batch).is_err()));
    let mut weigh = plan.weigh(ROUTES, 0, Known::default()).unwrap();
    assert!(weigh.push(table(&rows)).is_err());
    assert!(plan.decide(0).unwrap().push(table(&rows)).is_err());
    assert!(
        plan.sift(0, Known::default()).is_err()
            && scatter(0, &[]).is_err()
            && scatter(ROUTES, &[0; 25]).is_err()
    );
    assert!(Decisions::unpack(&[0; 25]).is_err() && Decisions::unpack(&[0; 48]).is_err());
}

#[test]
fn a_changed_table_is_noticed() {
    let rows = some_rows();
    let schema: Schema = texts(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[0], 9, false), &schema, key()).unwrap();
    let cluster = Cluster::new(selection.plan(), texts, &rows, 2);
    let released = cluster.decided(2);
    let mut named = cluster.named(&released);
    let unpacked = || Decisions::unpack(&released).unwrap();
    assert!(selection.publish(&named, unpacked(), &schema).is_ok());
    let last = named.pop().unwrap();
    let error = selection.publish(&named, unpacked(), &schema).unwrap_err();
    assert!(matches!(error, crate::Error::Source(_)), "{error}");
    named.extend([last.clone(), last]);
    assert!(selection.publish(&named, unpacked(), &schema).is_err());
}

#[test]
fn a_join_finds_the_mistaken_items_and_no_others() {
    let rows = some_rows();
    let schema: Schema = texts(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[0], 9, false), &schema, key()).unwrap();
    for partitions in [1, 5] {
        let listed = Cluster::new(selection.plan(), texts, &rows, partitions);
        let released = listed.decided(2);
        let joined = Cluster {
            joined: NonZeroU32::new(1),
            ..Cluster::new(selection.plan(), texts, &rows, partitions)
        };
        let (list, filter) = (listed.known(&released), Known::pack(&released, joined.joined).unwrap());
        let (filter, exact) = (Known::unpack(&filter).unwrap(), joined.known(&released));
        let mut mistaken = 0;
        for batch in joined.contributions.concat() {
            for (_, mut packed) in unrouted(&batch).unwrap() {
                for item in take_items(&mut packed, &Dictionaries::new(&key())).unwrap() {
                    assert_eq!(exact.contains(item), list.contains(item));
                    mistaken += u32::from(filter.contains(item) && !list.contains(item));
                }
            }
        }
        assert!(mistaken > 20, "{mistaken}");
        assert_eq!(joined.named(&released).len(), listed.named(&released).len());
    }
}
