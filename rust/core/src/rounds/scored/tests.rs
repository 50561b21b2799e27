//! Scored rounds against their definition, one user and one item after the other.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::random::Digest;
use dpsel_exact::random::{Purpose, Words};
use dpsel_rows::contributions::ItemCode;
use dpsel_rows::contributions::testing::contributions;
use proptest::prelude::*;

use super::*;
use crate::rounds::block::UserBlock;
use crate::rounds::block::{SharedTable, THREAD_SLOTS};
use crate::rounds::decision::{ItemOutcome, ItemState, ScoredRound};
use crate::rounds::released::Released;
use crate::rounds::{NoiseCheck, Round, Rule, Scoring, UserSize};
use dpsel_exact::numeric::UNIT;

use crate::weighting::{Allowance, Drift, FULL_IMPORTANCE, SHARES, Weighting};

type Table = Vec<(u64, u64)>;

fn key() -> ReleaseKey {
    ReleaseKey::insecure_test([9; 32])
}

fn bounded(rows: &Table, bound: u64) -> BoundedContributions {
    let bound = L0Bound::new(bound).unwrap();
    BoundedContributions::new(contributions(rows, &key()), bound, &key(), &Control::default()).unwrap()
}

fn kept_items(contributions: &BoundedContributions) -> Vec<Vec<u32>> {
    (0..contributions.users()).map(|user| contributions.kept_items(user).to_vec()).collect()
}

/// Rounds in which items are abandoned and settled. Users of one item have no cap that binds, and users of more than
/// `largest` items have no allowance.
fn rounds(sigma: f64, threshold: i64, (rounds, largest): (u32, u32)) -> Calibration {
    let threshold = threshold * UNIT.cast_signed() / 8;
    let size = |items, cap| UserSize { items, norm: UNIT, cap };
    let publish = Publish {
        threshold: Threshold::from_steps(threshold),
        score_noise: Noise::Gaussian { sigma: sigma * f64::from(rounds).sqrt() },
        noise_check: NoiseCheck::BelowThreshold,
        sizes: vec![size(1, UNIT), size(4, UNIT / 2), size(largest.max(5), UNIT / 3)],
    };
    let round = |number| {
        let path = threshold * i64::from(number) / i64::from(rounds);
        let scoring = Scoring {
            share: SHARES / rounds,
            noise: Noise::Gaussian { sigma },
            futility_bound: path - UNIT.cast_signed() / 4,
            expected_path: path,
            target: threshold,
            settled_bound: threshold + UNIT.cast_signed() / 2,
            publish: (number == rounds).then(|| publish.clone()),
        };
        Round { weighting: Weighting::EqualL2, rule: Rule::Scoring(scoring) }
    };
    Calibration::of((1..=rounds).map(round).collect())
}

/// What came of some rounds, and how many items were settled and abandoned before the last one.
#[derive(Debug, Default, PartialEq)]
struct Found {
    released: Vec<(u32, Digest, i64)>,
    settled: usize,
    abandoned: usize,
    capped: usize,
}

/// The rounds by their definition.
fn by_definition(contributions: &BoundedContributions, calibration: &Calibration) -> Found {
    let (scored, publish) = calibration.scoring().unwrap();
    let (allowances, users) = (publish.allowances(), kept_items(contributions));
    let mut drifts: BTreeMap<(usize, u32), Drift> = BTreeMap::new();
    let held = users.iter().flatten().map(|item| (*item, (0, ItemState::default())));
    let mut items: BTreeMap<u32, (u64, ItemState)> = held.collect();
    let mut found = Found::default();
    for (number, round) in (0_u32..).zip(&scored) {
        let before: BTreeMap<u32, u16> =
            items.iter().map(|(item, (_, state))| (*item, state.importance)).collect();
        for (user, kept) in users.iter().enumerate() {
            let in_round = allowances.in_round(round.share);
            let Some(allowance) = in_round.get(allowances.place(kept.len())) else { continue };
            let spread = allowance.spread(kept.iter().map(|item| u64::from(before[item]).pow(2)).sum());
            for item in kept {
                let weight = spread.weight(before[item], drifts.entry((user, *item)).or_default());
                found.capped += usize::from(weight < spread.uncapped(before[item]));
                items.get_mut(item).unwrap().0 += u64::from(weight);
            }
        }
        let decider = ScoredRound::new(calibration, number, true).unwrap();
        let (words, mut noises) = (Words::new(&key(), Purpose::Noise, number), Vec::new());
        for (item, (weight, state)) in &mut items {
            let digest = contributions.vocabulary().digests().get(ItemCode(*item));
            if !state.takes_part(*weight) {
                continue;
            }
            decider.noises(&[words.word(digest)], &mut noises);
            match decider.decide(*state, *weight, noises[0]) {
                ItemOutcome::Released(noisy) => found.released.push((*item, digest, noisy)),
                ItemOutcome::Abandoned => *state = ItemState::ABANDONED,
                ItemOutcome::Kept(next) => *state = next,
            }
        }
        if number + 2 == u32::try_from(scored.len()).unwrap() {
            let states = items.values().map(|(_, state)| *state);
            found.abandoned = states.clone().filter(|state| *state == ItemState::ABANDONED).count();
            found.settled = states.filter(|state| state.importance == 0).count() - found.abandoned;
        }
    }
    found
}

fn released(
    contributions: BoundedContributions,
    calibration: &Calibration,
    threads: usize,
) -> Vec<(u32, Digest, i64)> {
    let control = Control::new(NonZeroUsize::new(threads), None);
    let publish = calibration.scoring().unwrap().1;
    let found = score_rounds(contributions, (calibration, publish), true, &key(), &control).unwrap();
    let item = |released: &Released| (released.item.0, released.digest, released.weight);
    let mut items: Vec<_> = found.items.iter().map(item).collect();
    items.sort_unstable();
    items
}

proptest! {
    /// More items than users, so that many items have one user; and users of one part and of several.
    #[test]
    fn rounds_are_as_they_are_defined(
        rows in prop::collection::vec((0_u64..200, 0_u64..900), 0..900),
        common in prop::collection::vec((0_u64..200, 0_u64..6), 0..300),
        bound in 1_u64..40, sigma in 0.01..0.3_f64, threshold in 0_i64..6, number in 1_u32..9, largest in 5_u32..40,
    ) {
        let rows: Table = rows.into_iter().chain(common).collect();
        let calibration = rounds(sigma, threshold, (number, largest));
        let expected = by_definition(&bounded(&rows, bound), &calibration).released;
        prop_assert_eq!(released(bounded(&rows, bound), &calibration, 1), expected);
    }
}

/// Enough rows for several threads, and all that may happen to an item.
#[test]
fn any_number_of_threads_releases_the_same() {
    let mixed = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32;
    let items = |n: u64| {
        if n.is_multiple_of(3) { 1_000_000 + n } else { mixed(n) % 3000 % (1 + mixed(n + 7) % 3000) }
    };
    let rows: Table = (0..120_000).map(|n| (mixed(n + 99) % 5000, items(n))).collect();
    let calibration = rounds(0.05, 3, (6, 30));
    let contributions = || bounded(&rows, 35);
    let expected = by_definition(&contributions(), &calibration);
    let (alone, shared): (Vec<_>, Vec<_>) = {
        let mut users: BTreeMap<u32, usize> = BTreeMap::new();
        kept_items(&contributions()).iter().flatten().for_each(|item| *users.entry(*item).or_default() += 1);
        expected.released.iter().copied().partition(|(item, ..)| users[item] == 1)
    };
    assert!(alone.len() > 100 && shared.len() > 100, "{} {}", alone.len(), shared.len());
    assert!(expected.abandoned > 1000 && expected.settled > 100 && expected.capped > 1000, "{expected:?}");
    for threads in [1, 2, 5] {
        assert_eq!(released(contributions(), &calibration, threads), expected.released, "{threads} threads");
    }
}

/// Items of two users each. All are shared, and most of them are beyond those that each thread sums for itself.
const ITEMS: u64 = 200_000;
const ROUNDS: u32 = 16;
/// Of a user of 100,000 items, for which equal weights of all rounds add up to more.
const CAP: u64 = 3 << 20;

/// Two pairs of users. Both users of a pair hold the same items, in orders that meet again and again. So two threads
/// add to the same item at the same time.
fn pairs() -> BoundedContributions {
    let in_order = (0..ITEMS).map(|item| (item % 2, item));
    let scattered = (0..ITEMS).map(|n| n * 77_773 % ITEMS).map(|item| (2 + item % 2, item));
    bounded(&in_order.chain(scattered).collect(), ITEMS)
}

/// Every item has full importance at first. Each round abandons some items, and changes the importance of others.
fn importance(code: usize, round: u32) -> u16 {
    let last_round = u32::try_from(code % 24).unwrap();
    let changed = u16::try_from((code * 31 + round as usize * 7) % 256).unwrap() + 1;
    match round {
        0 => FULL_IMPORTANCE,
        _ if round > last_round => 0,
        _ => changed,
    }
}

/// The sums after each round by code, one user after the other.
fn plain_sums(users: &[Vec<u32>], codes: usize, allowance: Allowance) -> (Vec<Vec<u64>>, usize) {
    let mut drifts: Vec<Vec<Drift>> = users.iter().map(|items| vec![0; items.len()]).collect();
    let (mut sums, mut capped) = (vec![0_u64; codes], 0);
    let mut by_round = Vec::new();
    for round in 0..ROUNDS {
        let in_round = allowance.in_round(SHARES / ROUNDS);
        for (items, drifts) in users.iter().zip(&mut drifts) {
            let importances: Vec<u16> = items.iter().map(|item| importance(*item as usize, round)).collect();
            let spread = in_round.spread(importances.iter().map(|of| u64::from(*of).pow(2)).sum());
            for ((item, importance), drift) in items.iter().zip(importances).zip(drifts) {
                let weight = spread.weight(importance, drift);
                capped += usize::from(weight < spread.uncapped(importance));
                sums[*item as usize] += u64::from(weight);
            }
        }
        by_round.push(sums.clone());
    }
    (by_round, capped)
}

#[test]
fn threads_add_up_the_weights_of_shared_items() {
    let allowance = Allowance::new(UNIT, CAP);
    let contributions = pairs();
    let users = kept_items(&contributions);
    let (expected, capped) = plain_sums(&users, contributions.vocabulary().code_bound(), allowance);
    assert!(capped > 100_000, "users reach their caps: {capped}");
    let mut calibration = rounds(1.0, 0, (ROUNDS, 1));
    if let Some(Round { rule: Rule::Scoring(Scoring { publish: Some(publish), .. }), .. }) =
        calibration.rounds.last_mut()
    {
        publish.sizes = vec![UserSize { items: u32::try_from(ITEMS).unwrap(), norm: UNIT, cap: CAP }];
    }
    let allowances = calibration.scoring().unwrap().1.allowances();
    for threads in [1, 3] {
        let control = Control::new(NonZeroUsize::new(threads), None);
        let (pieces, vocabulary) = pairs().into_kept_pieces();
        let InBlocks { mut users, codes, .. } =
            InBlocks::new(pieces, vocabulary, &allowances, &control).unwrap();
        assert_eq!(codes.len() as u64, ITEMS);
        let mut shared = SharedTable::new(codes.len(), (threads, THREAD_SLOTS));
        let rounds = BlockRound::all(&calibration, false, &key()).unwrap();
        for ((number, round), expected) in (0..).zip(&rounds).zip(&expected) {
            let importances: Vec<u16> = codes.iter().map(|code| importance(*code as usize, number)).collect();
            shared.steer(&importances);
            let found = parallel::map(threads, users.iter_mut().collect(), |users: &mut UserBlock<u32>| {
                let mut released = Vec::new();
                users.run(round, &shared, &mut released).map(|()| released)
            });
            assert!(found.into_iter().all(|found| found.unwrap().is_empty()));
            shared.add_up();
            let found = codes.iter().map(|code| expected[*code as usize]);
            assert!(shared.weights().eq(found), "{threads} threads, round {number}");
        }
    }
}

/// What is charged covers what the columns hold, whether items are shared or not, and each user has few or many.
#[test]
fn rounds_charge_what_they_hold() {
    for (users, items, rows) in
        [(3000, 1_000_000, 9000), (3000, 1500, 6000), (3000, 40, 60_000), (1, 5000, 5000)]
    {
        let table: Table = (0..rows).map(|n| (n % users, n * 7919 % items)).collect();
        let (contributions, calibration) = (bounded(&table, 10_000), rounds(0.1, 3, (4, 10_000)));
        let (kept, codes) = (contributions.rows(), contributions.vocabulary().code_bound());
        let (number, control) = (contributions.users(), Control::default());
        let charged = bytes(Totals { users: number, codes, rows: kept }, &control);
        let publish = calibration.scoring().unwrap().1;
        for (limit, suffices) in [(charged, true), (charged - 1, false)] {
            let control = Control::new(None, Some(limit as u64));
            let rows = bounded(&table, 10_000);
            let found = score_rounds(rows, (&calibration, publish), false, &key(), &control);
            assert_eq!(found.is_ok(), suffices);
            // All of it is given back.
            assert!(!suffices || control.held_memory() == 0);
        }
        // Of an item that one user keeps: code, digest, user and state. Of a shared one: code, digest, place, sum, noise,
        // exposure and importance; of its rows slot, user and drift, in place of the item. Of a user: allowance, squares and
        // what it gave first.
        let in_use = |shared: usize, of_shared: usize| {
            (codes - shared) * (4 + 16 + 2 + 20)
                + shared * (4 + 16 + 2 + 8 + 14)
                + of_shared * 5
                + number * (1 + 8 + 2)
        };
        assert!(charged + kept * 4 >= in_use(0, 0).max(in_use(codes, kept)), "{users} {items} {rows}");
    }
}
