//! Adaptive weights: whole tables with and without a user, under any importances of the items.

use super::*;
use crate::weighting::{FULL_IMPORTANCE, MadWeights};

const ITEMS: usize = 15;
const CODES: u64 = ITEMS as u64;

/// The weights of a table in which the items have these importances.
fn weights(rows: &Rows, bound: u64, mad: MadWeights, importances: &[u16]) -> BTreeMap<Digest, u64> {
    let bounded = bounded(rows, bound);
    let codes = bounded.vocabulary().code_bound();
    let mut digests = vec![Digest::default(); codes];
    bounded.vocabulary().gather_digests(0, &mut digests);
    let known: BTreeMap<Digest, u16> = (0..CODES)
        .zip(importances)
        .map(|(item, importance)| (item_digest(item, &key()), *importance))
        .collect();
    let importances: Vec<u16> =
        digests.iter().map(|digest| known.get(digest).copied().unwrap_or(0)).collect();
    let mut histogram = WeightHistogram::new(codes);
    let control = Control::default();
    let guidance = Guidance { importances: Some(&importances), ranking: None };
    weigh_round(&mut histogram, &bounded, (Weighting::Mad(mad), 1), guidance, &key(), &control).unwrap();
    digests.into_iter().zip(histogram.weights(0..codes)).filter(|(_, weight)| *weight > 0).collect()
}

fn importances() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(prop_oneof![2 => Just(FULL_IMPORTANCE), 1 => 0..=FULL_IMPORTANCE], ITEMS)
}

proptest! {
    #[test]
    fn adaptive_weights_move_one_unit_of_norm_whatever_the_importances(
        rows in prop::collection::vec((0..40_u64, 0..CODES - 3), 0..300),
        added in prop::collection::btree_set(0..CODES, 1..15),
        importances in importances(), bound in 1..15_u64, limit in 0..4 * UNIT, most in 1..16_u32,
    ) {
        let mad = MadWeights { limit, most, norm: MadWeights::NORM };
        let with: Rows = rows.iter().copied().chain(added.iter().map(|item| (99, *item))).collect();
        let (before, after) = (weights(&rows, bound, mad, &importances), weights(&with, bound, mad, &importances));
        let change = |digest| after[digest].abs_diff(before.get(digest).copied().unwrap_or(0));
        let squares: u128 = after.keys().map(|digest| u128::from(change(digest)).pow(2)).sum();
        // On tables this small hardly any of the slack is used.
        prop_assert!(squares <= u128::from(UNIT + 64).pow(2), "{squares}");
        prop_assert!(before.keys().all(|digest| after.contains_key(digest)));
    }
}

#[test]
fn what_items_have_beyond_the_limit_returns_in_part() {
    let rows: Rows = (0..100).flat_map(|user| (0..5).map(move |item| (user, item))).collect();
    let mad = MadWeights { limit: 4 * UNIT, most: 100, norm: MadWeights::NORM };
    let found = weights(&rows, 9, mad, &[FULL_IMPORTANCE; ITEMS]);
    let given = 100 * Weighting::EqualL2.weight(5);
    // Each of a user's 5 items gets back 4/300 of what returns to the user.
    let expected = 4 * UNIT + (given - 4 * UNIT) * 5 * 4 / 300;
    assert!(found.values().all(|weight| weight.abs_diff(expected) < 200), "{found:?} {expected}");
}

#[test]
fn only_the_largest_weights_of_a_user_return() {
    let rows: Rows = (0..100).flat_map(|user| [(user, 0), (user, 1)]).collect();
    let mad = MadWeights { limit: UNIT, most: 100, norm: MadWeights::NORM };
    let mut importances = [FULL_IMPORTANCE; ITEMS];
    importances[1] = FULL_IMPORTANCE / 2;
    let found = weights(&rows, 9, mad, &importances);
    assert!(found[&item_digest(0, &key())] < 3 * UNIT, "the limit and a little of what returns");
    assert!(found[&item_digest(1, &key())] > 20 * UNIT, "a reweighted weight stays where it is");
}
