//! Scored rounds on many shared items: the sums of all threads are plain sums.

use std::num::NonZeroUsize;

use super::*;
use crate::weighting::reweighted::ReweightedHistogram;
use crate::weighting::{Budget, Budgets, Drift, FULL_IMPORTANCE, SHARES};

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
fn plain_sums(users: &[Vec<u32>], codes: usize, budget: Budget) -> (Vec<Vec<u64>>, usize) {
    let mut drifts: Vec<Vec<Drift>> = users.iter().map(|items| vec![0; items.len()]).collect();
    let (mut sums, mut capped) = (vec![0; codes], 0);
    let mut by_round = Vec::new();
    for round in 0..ROUNDS {
        let in_round = budget.in_round(SHARES / ROUNDS);
        for (items, drifts) in users.iter().zip(&mut drifts) {
            let importances: Vec<u16> = items.iter().map(|item| importance(*item as usize, round)).collect();
            let spread = in_round.spread(importances.iter().map(|of| u64::from(*of).pow(2)).sum());
            for ((item, importance), drift) in items.iter().zip(importances).zip(drifts) {
                let weight = spread.weight(importance, drift);
                capped += usize::from(weight < spread.uncapped(importance));
                sums[*item as usize] += weight;
            }
        }
        by_round.push(sums.clone());
    }
    (by_round, capped)
}

#[test]
fn threads_add_up_the_weights_of_shared_items() {
    let budget = Budget::new(UNIT, CAP);
    let contributions = pairs();
    let users: Vec<Vec<u32>> =
        (0..contributions.users()).map(|user| contributions.kept_items(user).to_vec()).collect();
    let (expected, capped) = plain_sums(&users, contributions.vocabulary().code_bound(), budget);
    assert!(capped > 100_000, "users reach their caps: {capped}");
    for threads in [1, 3] {
        let control = Control::new(NonZeroUsize::new(threads), None);
        let (rows, vocabulary) = pairs().into_kept_rows();
        let size = (u32::try_from(ITEMS).unwrap(), budget);
        let mut histogram = ReweightedHistogram::new(rows, &vocabulary, Budgets::new(vec![size]), &control);
        let codes: Vec<usize> = (0..histogram.slots()).map(|slot| histogram.item(slot).0 as usize).collect();
        for (round, expected) in (0..).zip(&expected) {
            let importances: Vec<u16> = codes.iter().map(|code| importance(*code, round)).collect();
            histogram.weigh(SHARES / ROUNDS, &importances, &control).unwrap();
            let found = (0..codes.len()).map(|slot| histogram.weight(slot));
            assert!(found.eq(codes.iter().map(|code| expected[*code])), "{threads} threads, round {round}");
        }
    }
}
