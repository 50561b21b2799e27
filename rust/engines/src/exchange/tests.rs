//! The stages in one process: the same release as the local engine's.

use std::iter::repeat;
use std::num::NonZeroU32;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use dpsel_core::rounds::Deciding;
use dpsel_core::task::{Request, SelectRequest, select_partitions};
use dpsel_exact::random::Digest;
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use self::simulation::*;
use super::rows::Chances;
use super::wire::{Dictionaries, PackedUsers, bucketed_values};
use super::*;

pub(crate) mod caps;
mod counts;
mod options;
mod simulation;
mod top_k;
mod trees;

fn request(mechanism: &str, bound: u32, with_weights: bool) -> SelectRequest {
    request_with(mechanism, 3.0, bound, with_weights)
}

fn request_with(mechanism: &str, epsilon: f64, bound: u32, with_weights: bool) -> SelectRequest {
    let privacy = format!(r#"{{"kind": "approx_dp", "epsilon": {epsilon:?}, "delta": 1e-2}}"#);
    request_under(&privacy, mechanism, bound, with_weights)
}

fn request_under(privacy: &str, mechanism: &str, bound: u32, with_weights: bool) -> SelectRequest {
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": ["item"]}}, "privacy": {privacy},
             "max_items_per_user": {bound}, "mechanism": {mechanism}, "with_weights": {with_weights}}}"#
    ))
    .and_then(Request::into_select)
    .unwrap()
}

/// Releases on both engines, with several limits of what is frequent, and with released items as a list or a filter.
fn same(table: Made, rows: &[(i64, i64)], request: &SelectRequest, buckets: usize) -> usize {
    let here = select_partitions(source_of(table(rows)), request, &key(), &Control::default()).unwrap();
    for (frequent_above, bits) in [(0, 0), (1, 0), (4, 0), (0, 1), (1, 9)] {
        let there = exchanged(table, rows, request, buckets, frequent_above, NonZeroU32::new(bits));
        assert_eq!(there.items, here.items, "{:?}, {frequent_above}, {bits}", request.mechanism);
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

const MECHANISMS: [&str; 9] = [
    r#"{"name": "count_laplace"}"#,
    r#"{"name": "count_gaussian"}"#,
    r#"{"name": "weighted_laplace"}"#,
    r#"{"name": "weighted_gaussian", "release": "noise"}"#,
    r#"{"name": "weighted_gaussian", "release": "curve"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "noise"}"#,
    r#"{"name": "sips", "rounds": 3, "ratio": 0.3333, "release": "curve"}"#,
    r#"{"name": "steered", "rounds": 12}"#,
    r#"{"name": "steered", "rounds": 5, "reach": 3}"#,
];

#[test]
fn the_exchange_makes_the_local_release() {
    let rows = some_rows();
    for mechanism in MECHANISMS {
        for (table, buckets) in [(table as Made, 1), (texts as Made, 5)] {
            let with_weights = !mechanism.contains("curve");
            let found = same(table, &rows, &request(mechanism, 9, with_weights), buckets);
            assert!((1..280).contains(&found), "{mechanism}: {found}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn few_rows_make_the_local_release(
        rows in prop::collection::vec((0_i64..12, 0_i64..6), 1..60), buckets in 1_usize..5, bound in 1_u32..4,
    ) {
        for mechanism in [MECHANISMS[5], MECHANISMS[7], MECHANISMS[8]] {
            same(table, &rows, &request(mechanism, bound, false), buckets);
        }
    }
}

#[test]
fn user_counts_leave_hardly_anything_to_send() {
    let rows: Rows = (0..3000).map(|user| (user, if user % 2 == 0 { -1 } else { user })).collect();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request_with(MECHANISMS[5], 0.5, 9, false), &schema, key()).unwrap();
    let job = selection.job();
    assert!(job.frequent_above() >= 2, "{}", job.frequent_above());
    let engine = Engine::new(job, table, &rows, 2);
    let sent = packed(&engine.pruned(job.frequent_above()).concat()).len();
    let all = packed(&engine.contributions.concat()).len();
    assert!(sent * 3 < all, "{sent} of {all}");
}

/// Users keep one item, and nearly all frequent items are removed after a round. So the whole reserve matters.
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

/// An item is left out if, and only if, no round can release it.
#[test]
fn candidates_are_those_of_any_round() {
    let schema: Schema = table(&[]).schema().as_ref().clone();
    let selection = Selection::new(request_with(MECHANISMS[5], 0.3, 9, false), &schema, key()).unwrap();
    let turns = selection.job().turns().unwrap();
    let deciding = || -> Vec<Deciding> { turns.each().map(|turn| turn.deciding().unwrap()).collect() };
    let items: Vec<Digest> = (0..3000).map(Digest).collect();
    let by_round = |users: u32| -> Vec<Vec<bool>> {
        let mut found = vec![vec![false; items.len()]; deciding().len()];
        for (found, round) in found.iter_mut().zip(deciding()) {
            round.each_possible(&items, repeat(users), |place| found[place] = true);
        }
        found
    };
    let some = |round: &Vec<bool>| (5..2900).contains(&round.iter().filter(|may| **may).count());
    let users = (1..200).find(|users| by_round(*users).iter().all(some)).unwrap();
    let (chances, counts) = (Chances(deciding()), UserCounts::unpack(users, &[]).unwrap());
    let rounds = by_round(users);
    for (at, found) in chances.most_users(&items, &counts).into_iter().enumerate() {
        assert_eq!(found, rounds.iter().any(|round| round[at]).then_some(users));
    }
}

#[test]
fn stages_refuse_what_is_not_theirs() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[5], 9, false), &schema, key()).unwrap();
    let job = selection.job();
    let counts = || UserCounts::unpack(1, &[]).unwrap();
    assert!(job.weigh(3, ReleasedSet::default()).is_err());
    let encoded = run(job.encode(BUCKETS, false, ReleasedSet::default()).unwrap(), &[table(&rows)]);
    let mut pieces = shuffled(encoded, 1).concat();
    pieces.push(pieces[0].clone());
    for mut task in [
        Box::new(job.prune_and_weigh(counts()).unwrap()) as Box<dyn Stage>,
        Box::new(job.count(1, None, true).unwrap()),
    ] {
        assert!(pieces.clone().into_iter().any(|batch| task.push(batch).is_err()));
    }
    let damaged = Packed::from(vec![1; 5]);
    assert!(decided(job, 3, &Packed::default()).is_err() && decided(job, 0, &damaged).is_err());
    assert!(
        added_up(&Packed::default(), &damaged).is_err() && added_up(&damaged, &Packed::default()).is_err()
    );
    assert!(job.block_users(counts()).is_err());
    assert!(job.weigh_blocks(1, &Packed::default()).is_err());
    assert!(job.weigh(0, ReleasedSet::default()).unwrap().push(table(&rows)).is_err());
    assert!(job.total(None).push(table(&rows)).is_err());
    assert!(
        job.filter_candidates(0, ReleasedSet::default()).is_err()
            && bucket_decisions(0, &[]).is_err()
            && bucket_decisions(BUCKETS, &[0; 25]).is_err()
    );
    assert!(Decisions::unpack(&[0; 25]).is_err() && Decisions::unpack(&[0; 48]).is_err());
}

/// A user whose rows came in two pieces would be bounded twice.
#[test]
fn blocks_refuse_pieces_of_a_bucket_and_states_of_other_rounds() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[7], 9, false), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), table, &rows, 1);
    let block = || selection.job().block_users(engine.frequent(1)).unwrap();
    let mut pieces = engine.contributions.concat();
    pieces.push(pieces[0].clone());
    let mut task = block();
    assert!(pieces.into_iter().any(|batch| task.push(batch).is_err()));

    let made = run(block(), &engine.contributions.concat());
    let sent = Packed::from(packed(&made[made.len() - 1..]));
    let mut steering = Steering::new(selection.job().clone());
    steering.take(&sent).unwrap();
    let states = steering.end_round().unwrap();
    // Of the round before, of no round, and of other items.
    assert!(steering.take(&sent).is_err());
    assert!(selection.job().weigh_blocks(12, &states).is_err());
    let nothing = Steering::new(selection.job().clone()).end_round().unwrap();
    for (states, fits) in [(states, true), (nothing, false)] {
        let mut task = selection.job().weigh_blocks(1, &states).unwrap();
        assert_eq!(task.push(made[0].clone()).is_ok(), fits);
    }
}

#[test]
fn sums_of_tasks_are_counted_before_they_are_sent() {
    let rows: Rows = (0..30).map(|user| (user, user % 4 * (user % 2))).collect();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[7], 9, false), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), table, &rows, 1);
    let counts = run(FrequentItems::above(1), &engine.user_counts.concat());
    // 15 users have the item 0, 8 the item 1 and 7 the item 3.
    let most = |tasks| most_sums(&Packed::from(packed(&counts)), tasks).unwrap();
    assert_eq!([1, 7, 10, 20].map(most), [3, 21, 25, 30]);
}

/// How much a task takes together changes what is sent, and no decision.
#[test]
fn values_that_end_early_make_the_same_decisions() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[5], 9, true), &schema, key()).unwrap();
    let early = selection.job().clone().with_rows_together(200);
    let [whole, early] = [selection.job(), &early].map(|job| Engine::new(job, table, &rows, 2));
    let values =
        |engine: &Engine<'_>| -> usize { engine.pruned(4).concat().iter().map(RecordBatch::num_rows).sum() };
    assert!(values(&early) > values(&whole));
    let found = whole.decided(4);
    assert_eq!(early.decided(4), found);
    assert!(found.len() > 24 * 9);
}

#[test]
fn a_changed_table_is_noticed() {
    let rows = some_rows();
    let schema: Schema = texts(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[0], 9, false), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), texts, &rows, 2);
    let released = engine.decided(2);
    let mut named = engine.named(&released);
    let unpacked = || Decisions::unpack(&released).unwrap();
    assert!(selection.publish(&named, &unpacked(), (None, None), &schema).is_ok());
    let last = named.pop().unwrap();
    let error = selection.publish(&named, &unpacked(), (None, None), &schema).unwrap_err();
    assert!(matches!(error, dpsel_exact::Error::Source(_)), "{error}");
    named.extend([last.clone(), last]);
    assert!(selection.publish(&named, &unpacked(), (None, None), &schema).is_err());
}

#[test]
fn a_join_finds_the_false_positives_and_no_other_items() {
    let rows = some_rows();
    let schema: Schema = texts(&rows).schema().as_ref().clone();
    let selection = Selection::new(request(MECHANISMS[0], 9, false), &schema, key()).unwrap();
    for buckets in [1, 5] {
        let listed = Engine::new(selection.job(), texts, &rows, buckets);
        let released = listed.decided(2);
        let joined =
            Engine { filter_bits: NonZeroU32::new(1), ..Engine::new(selection.job(), texts, &rows, buckets) };
        let (list, exact) = (listed.released_set(&released), joined.released_set(&released));
        let filter = ReleasedSet::pack(&released, joined.filter_bits).unwrap();
        let filter = ReleasedSet::unpack(&filter).unwrap();
        let mut false_positives = 0;
        for batch in joined.contributions.concat() {
            for (_, packed) in bucketed_values(&batch).unwrap() {
                let mut items = Vec::new();
                PackedUsers::unpack(packed, &Dictionaries::new(&key()), &mut items).unwrap();
                for item in items {
                    assert_eq!(exact.contains(item), list.contains(item));
                    false_positives += u32::from(filter.contains(item) && !list.contains(item));
                }
            }
        }
        assert!(false_positives > 20, "{false_positives}");
        assert_eq!(joined.named(&released).len(), listed.named(&released).len());
    }
}
