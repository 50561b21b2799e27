//! Integer sensitivities on neighbouring tables under the same key (replay), and invariance to order and threads.

use std::collections::{BTreeMap, BTreeSet};

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_rows::contributions::ItemOrder;
use dpsel_rows::contributions::testing::{contributions, item_digest, ordered};
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use dpsel_exact::numeric::UNIT;

use super::{Guidance, WeightHistogram, Weighting, weigh_round};
use crate::bounding::{BoundedContributions, ItemSet};

mod mad;
mod matching;
mod sequential;

type Rows = Vec<(u64, u64)>;

fn key() -> ReleaseKey {
    ReleaseKey::insecure_test([9; 32])
}

fn bounded(rows: &Rows, bound: u64) -> BoundedContributions {
    bounded_in(None, rows, bound)
}

fn bounded_in(order: Option<ItemOrder>, rows: &Rows, bound: u64) -> BoundedContributions {
    let order = order.map(|order| match order {
        ItemOrder::Counts => ItemOrder::Counts,
        ItemOrder::Prior(()) => panic!("these tests have no public table"),
    });
    let (contributions, bound) = (ordered(rows, &key(), order.as_ref()), L0Bound::new(bound).unwrap());
    BoundedContributions::new(contributions, bound, &key(), &Control::default()).unwrap()
}

fn histogram(bounded: &BoundedContributions, weighting: Weighting) -> BTreeMap<Digest, u64> {
    histogram_in_quanta(bounded, weighting, 1)
}

fn histogram_in_quanta(
    bounded: &BoundedContributions,
    weighting: Weighting,
    quantum: u64,
) -> BTreeMap<Digest, u64> {
    let codes = bounded.vocabulary().code_bound();
    let mut histogram = WeightHistogram::new(codes);
    weigh_round(
        &mut histogram,
        bounded,
        (weighting, quantum),
        Guidance::default(),
        &key(),
        &Control::default(),
    )
    .unwrap();
    let mut digests = vec![Digest::default(); codes];
    bounded.vocabulary().gather_digests(0, &mut digests);
    digests.into_iter().zip(histogram.weights(0..codes)).filter(|(_, w)| *w > 0).collect()
}

fn remove(bounded: &mut BoundedContributions, released: &BTreeSet<u64>) {
    let codes = bounded.vocabulary().code_bound();
    let mut digests = vec![Digest::default(); codes];
    bounded.vocabulary().gather_digests(0, &mut digests);
    let mut set = ItemSet::default();
    for item in released {
        if let Some(code) = digests.iter().position(|d| *d == item_digest(*item, &key())) {
            set.insert(dpsel_rows::contributions::ItemCode::from_index(code));
        }
    }
    bounded.remove(&set, &Control::default()).unwrap();
}

/// What the added user gives to each item; panics if any item lost weight.
fn gifts(without: &BTreeMap<Digest, u64>, with: &BTreeMap<Digest, u64>) -> Vec<u64> {
    assert!(without.iter().all(|(d, w)| with.get(d) >= Some(w)));
    with.iter().map(|(d, w)| w - without.get(d).unwrap_or(&0)).filter(|g| *g > 0).collect()
}

fn check_budget(gifts: &[u64], weighting: Weighting, bound: u64) {
    assert!(gifts.len() as u64 <= bound);
    match weighting {
        Weighting::Count => assert!(gifts.iter().all(|g| *g == UNIT)),
        Weighting::EqualL1 => assert!(gifts.iter().sum::<u64>() <= UNIT),
        Weighting::EqualL2 => {
            let squares: u128 = gifts.iter().map(|g| u128::from(*g) * u128::from(*g)).sum();
            assert!(squares <= u128::from(UNIT) * u128::from(UNIT));
        }
        _ => panic!("users who come one after the other have tests of their own"),
    }
}

proptest! {
    #[test]
    fn adding_a_user_changes_the_histogram_by_at_most_its_budget(
        rows in prop::collection::vec((0..6_u64, 0..12_u64), 0..60),
        added in prop::collection::vec(6..15_u64, 0..14),
        released in prop::collection::btree_set(0..15_u64, 0..8),
        bound in 1..6_u64,
    ) {
        let mut with_user = rows.clone();
        with_user.extend(added.iter().map(|item| (99, *item)));
        for weighting in [Weighting::Count, Weighting::EqualL1, Weighting::EqualL2] {
            let (mut without, mut with) = (bounded(&rows, bound), bounded(&with_user, bound));
            check_budget(&gifts(&histogram(&without, weighting), &histogram(&with, weighting)), weighting, bound);
            remove(&mut without, &released);
            remove(&mut with, &released);
            check_budget(&gifts(&histogram(&without, weighting), &histogram(&with, weighting)), weighting, bound);
        }
    }

    #[test]
    fn order_and_duplicates_do_not_matter(
        rows in prop::collection::vec((0..6_u64, 0..12_u64), 1..60),
        bound in 1..6_u64,
    ) {
        let mut other = rows.clone();
        other.reverse();
        other.extend_from_slice(&rows);
        prop_assert_eq!(
            histogram(&bounded(&rows, bound), Weighting::EqualL2),
            histogram(&bounded(&other, bound), Weighting::EqualL2)
        );
    }

    #[test]
    fn bounding_again_equals_bounding_what_is_left(
        rows in prop::collection::vec((0..4_u64, 0..20_u64), 1..60),
        first in prop::collection::btree_set(0..20_u64, 0..8),
        second in prop::collection::btree_set(0..20_u64, 0..8),
        bound in 1..6_u64,
    ) {
        let mut twice = bounded(&rows, bound);
        remove(&mut twice, &first);
        let removed: BTreeSet<u64> = &first | &second;
        remove(&mut twice, &removed);
        let left: Rows = rows.iter().copied().filter(|(_, item)| !removed.contains(item)).collect();
        prop_assert_eq!(
            histogram(&twice, Weighting::EqualL1),
            histogram(&bounded(&left, bound), Weighting::EqualL1)
        );
    }
}

#[test]
fn a_user_keeps_exactly_its_bound() {
    let rows: Rows = (0..1000).map(|item| (1, item)).collect();
    for bound in [1, 10, 999, 1000, 5000] {
        assert_eq!(histogram(&bounded(&rows, bound), Weighting::Count).len() as u64, bound.min(1000));
    }
}

#[test]
fn threads_do_not_matter() {
    let rows: Rows = (0..200_000).map(|i| (i % 5_000, i * i % 4_001)).collect();
    let sums: Vec<_> = [1, 2, 8]
        .into_iter()
        .map(|threads| {
            let control = Control::new(std::num::NonZeroUsize::new(threads), None);
            let c = contributions(&rows, &key());
            let b = BoundedContributions::new(c, L0Bound::new(20).unwrap(), &key(), &control).unwrap();
            let mut histogram = WeightHistogram::new(b.vocabulary().code_bound());
            histogram.weigh(&b, |k| Weighting::EqualL2.weight(k), &control).unwrap();
            let codes = histogram.code_bound();
            let mut digests = vec![Digest::default(); codes];
            b.vocabulary().gather_digests(0, &mut digests);
            digests.into_iter().zip(histogram.weights(0..codes)).collect::<BTreeMap<_, _>>()
        })
        .collect();
    assert!(sums.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn norms_hold_exactly_and_spend_all() {
    for k in (1..5000).chain([99_999, 1_000_000, 10_000_000]) {
        let l1 = Weighting::EqualL1.weight(k);
        assert!(l1 * u64::from(k) <= UNIT && (l1 + 1) * u64::from(k) > UNIT);
        let w = u128::from(Weighting::EqualL2.weight(k));
        let square = u128::from(UNIT) * u128::from(UNIT);
        assert!(w * w * u128::from(k) <= square && (w + 1) * (w + 1) * u128::from(k) > square);
    }
}

/// More codes than threads sum privately, sums of more than 32 bits, and users of more items than a bucket can say.
#[test]
fn many_items_and_heavy_sums() {
    let spread = |user: u64, items: u64| (0..items).map(move |i| (user, (i * 7 + user % 3) % 400_000));
    let rows: Rows = (0..12)
        .flat_map(|user| spread(user, 4000))
        .chain(spread(20, 90_000))
        .chain(spread(21, 200_000))
        .collect();
    let mut users = BTreeMap::<u64, BTreeSet<u64>>::new();
    for (user, item) in &rows {
        users.entry(*user).or_default().insert(*item);
    }
    for weighting in [Weighting::Count, Weighting::EqualL1, Weighting::EqualL2] {
        let mut expected = BTreeMap::<Digest, u64>::new();
        let mut digest_of = BTreeMap::new();
        for items in users.values() {
            for item in items {
                let digest = *digest_of.entry(*item).or_insert_with(|| item_digest(*item, &key()));
                *expected.entry(digest).or_default() += weighting.weight(u32::try_from(items.len()).unwrap());
            }
        }
        assert!(weighting != Weighting::Count || expected.values().any(|sum| *sum > 4 * UNIT));
        let bounded = bounded(&rows, 1_000_000);
        for threads in [1, 3] {
            let control = Control::new(std::num::NonZeroUsize::new(threads), None);
            let codes = bounded.vocabulary().code_bound();
            let mut histogram = WeightHistogram::new(codes);
            let mut digests = vec![Digest::default(); codes];
            bounded.vocabulary().gather_digests(0, &mut digests);
            for _round in 0..2 {
                histogram.weigh(&bounded, |k| weighting.weight(k), &control).unwrap();
                let found: BTreeMap<_, _> = digests
                    .iter()
                    .copied()
                    .zip(histogram.weights(0..codes))
                    .filter(|(_, w)| *w > 0)
                    .collect();
                assert!(found == expected);
            }
        }
    }
}
