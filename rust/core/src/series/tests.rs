//! A series as a whole, on small tables: laws, damaged states, and plans that do not hold.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{Columns, Source};
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use super::account::{Account, Pair};
use super::plan::NORM;
use super::scores::{Item, Scores, SeriesState as State, Status};
use super::walk::Walk;
use super::{Asked, ReleaseRemains, SeriesKeys, SeriesPlan, release};

fn asked(waits: bool) -> Asked {
    let privacy = Privacy::ApproxDp { epsilon: 8.0, delta: 0.05 };
    Asked { privacy, releases: 28, max_items_per_user: L0Bound::new(5).unwrap(), waits }
}

fn plan(waits: bool) -> SeriesPlan {
    SeriesPlan::new(asked(waits)).unwrap()
}

fn columns() -> Columns {
    Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels: None }
}

/// Rows in batches of a size.
fn source(rows: &[(i64, i64)], size: usize) -> Source {
    let batch = |rows: &[(i64, i64)]| {
        let (users, items): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
        let columns: [(&str, ArrayRef); 2] =
            [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(Int64Array::from(items)))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let schema = batch(&[]).schema();
    let batches: Vec<_> = rows.chunks(size).map(|rows| Ok(batch(rows))).collect();
    Source::Stream(Box::new(RecordBatchIterator::new(batches, schema)))
}

fn secret() -> ReleaseKey {
    ReleaseKey::kept([7; 32])
}

fn next(
    plan: &SeriesPlan,
    state: Option<&[u8]>,
    rows: Source,
    (number, threads): (u8, usize),
    forget: &[Digest],
) -> Result<ReleaseRemains> {
    let (secret, noise) = (secret(), ReleaseKey::kept([number; 32]));
    let keys = SeriesKeys { secret: &secret, noise: &noise };
    let control = Control::new(NonZeroUsize::new(threads), None);
    let state = state.map(|bytes| zeroize::Zeroizing::new(bytes.to_vec()));
    release(plan, keys, state, (rows, &columns()), forget, &control)
}

/// What users hold from some release on: items of small numbers are frequent.
fn weeks() -> Vec<Vec<(i64, i64)>> {
    let held = |week: i64| {
        let pairs = (0..200_i64).flat_map(|user| (0..12_i64).map(move |item| (user, item)));
        pairs.filter(|(user, item)| (user * 31 + item * 17 + week * 7) % (2 * item + 5) == 0).collect()
    };
    (0..7).map(held).collect()
}

/// All states and lists of a year.
fn year(plan: &SeriesPlan) -> Vec<ReleaseRemains> {
    let mut made: Vec<ReleaseRemains> = Vec::new();
    for (number, rows) in (0..).zip(weeks()) {
        let state = made.last().map(|made| made.state.as_slice());
        made.push(next(plan, state, source(&rows, 1000), (number, 1), &[]).unwrap());
    }
    made
}

#[test]
fn order_repeats_chunks_threads_and_known_rows_change_nothing() {
    for waits in [true, false] {
        let (plan, weeks) = (plan(waits), weeks());
        let made = year(&plan);
        assert!(made.iter().map(|made| made.items.num_rows()).sum::<usize>() > 4);
        for (number, expected) in (0_u8..).zip(&made) {
            let at = usize::from(number);
            let state = at.checked_sub(1).map(|before| made[before].state.as_slice());
            let mut all: Vec<_> = weeks[..=at].concat();
            all.reverse();
            let mut twice = [weeks[at].clone(), weeks[at].clone()].concat();
            twice.sort_by_key(|(user, item)| (item * 7 % 13, -user));
            for (rows, size, threads) in [(&all, 17, 1), (&twice, 1, 3), (&weeks[at], 64, 2)] {
                let found = next(&plan, state, source(rows, size), (number, threads), &[]).unwrap();
                assert_eq!(found.items, expected.items);
                assert_eq!(found.state, expected.state);
            }
        }
    }
}

/// So many pairs that several threads weigh them.
#[test]
fn threads_change_nothing_where_there_are_several() {
    let plan = plan(true);
    let rows: Vec<(i64, i64)> =
        (0..20_000).flat_map(|user| (0..5).map(move |k| (user, (user * 7 + k * k * 31) % 900))).collect();
    let made = |threads| next(&plan, None, source(&rows, 10_000), (1, threads), &[]).unwrap();
    let (one, three) = (made(1), made(3));
    assert_eq!((one.items, one.state), (three.items, three.state));
}

#[test]
fn the_state_tells_nothing_of_a_key_that_is_not_needed() {
    for waits in [true, false] {
        let plan = plan(waits);
        let states: Vec<State> = year(&plan)
            .iter()
            .map(|made| State::from_bytes(&made.state, &plan, &secret()).unwrap())
            .collect();
        let keys: Vec<usize> = states.iter().map(|state| state.kept.noise_keys.len()).collect();
        assert_eq!(keys, if waits { [0; 7] } else { [1, 2, 1, 2, 1, 2, 3] });
    }
}

/// In any block every pair keeps to its cap, and what a user spends is at least what its totals need.
#[test]
fn states_keep_norms_and_caps() {
    for waits in [true, false] {
        let plan = plan(waits);
        let mut spent = std::collections::HashMap::new();
        let mut before = std::collections::HashMap::new();
        for (number, made) in (1..).zip(year(&plan)) {
            let state = State::from_bytes(&made.state, &plan, &secret()).unwrap();
            for account in &state.kept.accounts {
                assert!(account.pairs.len() <= 5 && account.ranked <= 5 && account.left <= NORM);
                for Pair { item, place, given } in &account.pairs {
                    assert!(*given <= plan.caps_at(plan.age(number))[usize::from(*place)]);
                    let key = (account.digest, state.kept.items[*item as usize].digest);
                    let last = before.insert(key, *given).filter(|_| plan.age(number) > 1).unwrap_or(0);
                    let moved = u128::from(given - last);
                    *spent.entry(account.digest).or_insert(0) += moved * moved;
                }
                let spent = spent.get(&account.digest).copied().unwrap_or(0);
                assert!(spent <= u128::from(NORM - account.left), "{spent}");
            }
        }
        assert!(spent.values().any(|spent| *spent > u128::from(NORM / 10)));
    }
}

#[test]
fn a_forgotten_user_is_gone_and_stays_so() {
    let (plan, weeks) = (plan(false), weeks());
    let first = next(&plan, None, source(&weeks[0], 100), (0, 1), &[]).unwrap();
    let digest = State::from_bytes(&first.state, &plan, &secret()).unwrap().kept.accounts[3].digest;
    // Whoever never had rows is forgotten likewise.
    let forget = [digest, Digest(5), digest];
    let second = next(&plan, Some(&first.state), source(&weeks[0], 100), (1, 1), &forget).unwrap();
    let state = State::from_bytes(&second.state, &plan, &secret()).unwrap();
    assert!(state.kept.accounts.iter().all(|account| account.digest != digest));
    let mut expected = vec![digest, Digest(5)];
    expected.sort_unstable();
    assert_eq!(state.forgotten, expected);
}

#[test]
fn one_more_release_than_planned_is_refused() {
    let (plan, rows) = (SeriesPlan::new(Asked { releases: 1, ..asked(true) }).unwrap(), weeks().concat());
    let first = next(&plan, None, source(&rows, 100), (0, 1), &[]).unwrap();
    let error = next(&plan, Some(&first.state), source(&rows, 100), (1, 1), &[]).unwrap_err();
    let expected = "the series has had all its releases, which are 1; begin a new series, which costs anew";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn other_columns_and_types_are_refused() {
    let plan = plan(true);
    let first = next(&plan, None, source(&weeks()[0], 100), (0, 1), &[]).unwrap();
    let again = |columns: Columns| {
        let (secret, noise) = (secret(), ReleaseKey::kept([1; 32]));
        let keys = SeriesKeys { secret: &secret, noise: &noise };
        let rows = source(&weeks()[1], 100);
        release(&plan, keys, Some(first.state.clone()), (rows, &columns), &[], &Control::default())
            .unwrap_err()
    };
    let swapped = Columns { user: "item".into(), items: vec!["user".into()], ..columns() };
    assert_eq!(
        again(swapped).to_string(),
        "the columns are not those of the releases before; \
         name the same columns in every release of a series"
    );
    let levels = Some(dpsel_rows::ingest::Levels::Separator("/".into()));
    assert_eq!(
        again(Columns { levels, ..columns() }).to_string(),
        "a series does not take levels=; leave it out, or make one release with select_partitions"
    );
    let texts: [(&str, ArrayRef); 2] = [
        ("user", Arc::new(Int64Array::from(vec![1]))),
        ("item", Arc::new(arrow_array::StringArray::from(vec!["tea"]))),
    ];
    let batch = RecordBatch::try_from_iter(texts).unwrap();
    let schema = batch.schema();
    let texts = Source::Stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    let error = next(&plan, Some(&first.state), texts, (1, 1), &[]).unwrap_err();
    assert!(matches!(error, Error::Schema { .. }), "{error}");
}

/// Users who have spent everything and hold nothing take the fewest bytes.
#[test]
fn the_smallest_parts_of_a_state_survive() {
    let plan = plan(false);
    let account = |number| Account { left: 0, ..Account::new(Digest(number), &plan, 1) };
    let item = |number, status, walk| Item { digest: Digest(number), status, key: None, walk };
    let walk = Box::new(Walk { score: -(1 << 100), noise: 1 << 99, exposure: 1 << 48, importance: 256 });
    let items = vec![
        item(0, Status::InPlay, None),
        item(1, Status::Paused, None),
        item(2, Status::InPlay, Some(walk)),
        item(3, Status::Out, None),
        item(4, Status::WasOut, None),
    ];
    let noise_keys = vec![zeroize::Zeroizing::new([9; 32])];
    let kept = Scores { noise_keys, items, accounts: (0..100).map(account).collect() };
    let state = State { release: 1, kept, forgotten: (200..300).map(Digest).collect(), ..State::default() };
    for state in [State { forgotten: Vec::new(), ..state.clone() }, state] {
        let bytes = state.clone().into_bytes(&plan, &secret()).unwrap();
        assert_eq!(State::from_bytes(&bytes, &plan, &secret()).unwrap(), state);
    }
}

#[test]
fn states_of_other_plans_and_secrets_are_refused() {
    let made = year(&plan(true));
    let of = |plan: &SeriesPlan, secret: u8| {
        State::from_bytes(&made[0].state, plan, &ReleaseKey::kept([secret; 32])).map_err(|e| e.to_string())
    };
    assert!(of(&plan(true), 7).is_ok());
    let expected = "the state of the series: it is not what the last release wrote under this secret; \
                    give the state and the secret of the last release, unchanged";
    assert_eq!(of(&plan(false), 7).unwrap_err(), expected);
    assert_eq!(of(&plan(true), 8).unwrap_err(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever was damaged, there is an error; and without the digest at the end, at least no panic.
    #[test]
    fn damaged_states_are_refused(
        at: prop::sample::Index, bit in 0..8_u32, cut: prop::sample::Index, waits: bool,
    ) {
        static STATES: std::sync::OnceLock<[Vec<u8>; 2]> = std::sync::OnceLock::new();
        let states = STATES.get_or_init(|| [false, true].map(|waits| {
            // The second release, in the midst of a block.
            year(&plan(waits))[5].state.to_vec()
        }));
        let (plan, state) = (plan(waits), &states[usize::from(waits)]);
        let mut damaged = state.clone();
        damaged[at.index(state.len())] ^= 1 << bit;
        prop_assert!(State::from_bytes(&damaged, &plan, &secret()).is_err());
        prop_assert!(State::from_bytes(&state[..cut.index(state.len())], &plan, &secret()).is_err());
        let _ = State::parse(&damaged[..state.len() - 32], &plan);
        prop_assert!(State::parse(&state[..cut.index(state.len() - 32)], &plan).is_err());
    }

    /// Any rounds with any importances: norms of rounds, the norm for life, and caps that grow.
    #[test]
    fn no_user_gives_more_than_it_has(
        releases in prop::collection::vec(prop::collection::vec(prop::collection::vec(0_u16..=256, 5), 6), 1..7),
        first in 0..3_u32,
    ) {
        let plan = plan(true);
        let mut account = Account::new(Digest(1), &plan, 1 + first);
        account.queue = (0..5).collect();
        account.rank(&plan, |_| false);
        let (mut square, mut total) = (0_u128, [0_u64; 5]);
        for (number, rounds) in (1 + first..=28).zip(&releases) {
            if plan.age(number) == 1 {
                account.begin_block(|_| false);
                total = [0; 5];
            }
            let norm = account.round_norm(&plan, number);
            for importances in rounds {
                let mut of_round = 0;
                account.give((plan.rounds, norm), importances, plan.caps_at(plan.age(number)), |item, weight| {
                    total[item as usize] += weight;
                    of_round += u128::from(weight) * u128::from(weight);
                }).unwrap();
                prop_assert!(of_round <= u128::from(norm) * u128::from(norm));
                square += u128::from(plan.rounds) * of_round;
            }
            for (pair, total) in account.pairs.iter().zip(total) {
                prop_assert_eq!(pair.given, total);
                prop_assert!(total <= plan.caps_at(plan.age(number))[usize::from(pair.place)]);
            }
            prop_assert!(square <= u128::from(NORM));
            prop_assert_eq!(square, u128::from(NORM - account.left));
        }
    }
}

#[test]
fn a_series_of_any_plan_has_sound_blocks() {
    for releases in [1, 2, 3, 4, 5, 16, 17, 52, 1024] {
        let plan = SeriesPlan::new(Asked { releases, ..asked(true) }).unwrap();
        let found = SeriesPlan::from_json(&plan.to_json().unwrap()).unwrap();
        assert_eq!(found, plan);
        let ages: Vec<u32> = (1..=releases).map(|release| plan.age(release)).collect();
        let numbers = (1..=plan.longest()).map(|age| ages.iter().filter(|at| **at == age).count());
        assert!(numbers.eq(super::plan::blocks_of_age(&plan.blocks, releases).iter().map(|n| *n as usize)));
        for release in 1..=releases {
            let (first, length) = plan.block(release);
            assert!(plan.blocks.contains(&first) && (first..first + length).contains(&release));
        }
    }
    let weeks = SeriesPlan::new(Asked { releases: 52, ..asked(true) }).unwrap();
    assert_eq!((weeks.blocks, weeks.thresholds.len()), (vec![1, 3, 5, 9, 17, 25, 33, 41, 49], 8));
    let months = SeriesPlan::new(Asked { releases: 12, ..asked(true) }).unwrap();
    assert_eq!(months.blocks, [1, 3, 5, 7, 9, 11]);
}

/// One number is changed at a time, to the worse.
#[test]
fn a_plan_that_does_not_keep_its_guarantee_is_refused() {
    let max_items_per_user = L0Bound::new(100).unwrap();
    let sound = SeriesPlan::new(Asked { releases: 52, max_items_per_user, ..asked(true) }).unwrap();
    let changes: [fn(&mut SeriesPlan); 12] = [
        |plan| plan.thresholds[0] -= plan.thresholds[0] / 1000,
        |plan| plan.thresholds[7] -= plan.thresholds[7] / 1000,
        |plan| plan.caps[0][4] += plan.caps[0][4] / 10,
        |plan| plan.caps[3][0] = plan.thresholds[3] + 1,
        |plan| plan.caps[3].swap(0, 9),
        |plan| plan.caps.swap(0, 1),
        |plan| plan.sigma *= 0.999,
        |plan| plan.norm += 1,
        |plan| plan.certificate.reserve = 0.0,
        |plan| plan.certificate.delta_thresholds *= 0.999,
        |plan| plan.blocks[1] = 2,
        |plan| plan.asked.releases += 1,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut plan = sound.clone();
        change(&mut plan);
        let error = SeriesPlan::from_json(&plan.to_json().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Report(_)), "{number}: {error}");
    }
    for text in ["", "{}", "null"] {
        assert!(matches!(SeriesPlan::from_json(text), Err(Error::Report(_))));
    }
}

#[test]
fn impossible_series_are_refused() {
    let privacy = Privacy::PureDp { epsilon: 1.0 };
    assert!(matches!(SeriesPlan::new(Asked { privacy, ..asked(true) }), Err(Error::Incompatible { .. })));
    for releases in [0, 1025] {
        let error = SeriesPlan::new(Asked { releases, ..asked(true) }).unwrap_err().to_string();
        assert!(error.starts_with("releases must be between 1 and 1,024, got "), "{error}");
    }
    for privacy in [
        Privacy::ApproxDp { epsilon: 1e-12, delta: 1e-30 },
        Privacy::Zcdp { rho: 1e-9, delta: 0.5 },
        Privacy::ApproxDp { epsilon: 60.0, delta: 1e-6 },
    ] {
        let error = SeriesPlan::new(Asked { privacy, ..asked(true) });
        assert!(matches!(error, Err(Error::Calibration { .. })), "{error:?}");
    }
}

#[test]
fn an_item_comes_out_by_its_weights_and_not_by_noise() {
    let at = |score, noise, importance| Walk { score, noise, exposure: 0, importance }.comes_out(10);
    assert!(at(10, 9, 1) && at(11, -4, 256));
    assert!(!at(9, 9, 1) && !at(10, 10, 1) && !at(20, 11, 1));
}
