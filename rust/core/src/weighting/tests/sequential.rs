//! Users who come one after the other: whole tables with and without a user, under the same key.

use super::*;
use crate::weighting::{Greedy, PolicyL1, PolicyL2};

const NOVEL: std::ops::Range<u64> = 12..15;

fn rows_and_user() -> impl Strategy<Value = (Rows, Rows)> {
    let rows = prop::collection::vec((0..25_u64, 0..12_u64), 0..120);
    let added = prop::collection::btree_set(0..15_u64, 1..8);
    (rows, added).prop_map(|(rows, added)| {
        let with = rows.iter().copied().chain(added.iter().map(|item| (99, *item))).collect();
        (rows, with)
    })
}

fn pair(tables: &(Rows, Rows), bound: u64, weighting: Weighting) -> [BTreeMap<Digest, u64>; 2] {
    [&tables.0, &tables.1].map(|rows| histogram(&bounded_in(order_for(weighting), rows, bound), weighting))
}

/// What the weighting asks of the order of a user's items.
fn order_for(weighting: Weighting) -> Option<ItemOrder> {
    matches!(weighting, Weighting::Greedy(_)).then_some(ItemOrder::Counts)
}

/// The weights of the items that the added user alone holds.
fn novel(weights: &BTreeMap<Digest, u64>) -> Vec<u64> {
    NOVEL.filter_map(|item| weights.get(&item_digest(item, &key())).copied()).collect()
}

proptest! {
    #[test]
    fn descent_in_l1_moves_one_unit_and_novel_items_get_equal_shares(
        tables in rows_and_user(), bound in 1..9_u64, cutoff in UNIT..3 * UNIT, passes in 1..4_u32,
    ) {
        let weighting = Weighting::PolicyL1(PolicyL1 { cutoff, passes });
        let [without, with] = pair(&tables, bound, weighting);
        let gifts = gifts(&without, &with);
        prop_assert!(gifts.len() <= 15 && gifts.iter().sum::<u64>() <= UNIT);
        let novel = novel(&with);
        let most = weighting.weight(u32::try_from(novel.len()).unwrap());
        prop_assert!(novel.iter().all(|weight| *weight <= most));
        prop_assert!(with.values().all(|weight| *weight <= cutoff));
    }

    #[test]
    fn descent_in_quanta_moves_whole_quanta_of_one_unit_in_all(
        tables in rows_and_user(), bound in 1..9_u64, cutoff in UNIT..3 * UNIT, passes in 1..4_u32,
        quantum in prop_oneof![Just(UNIT / 3), Just(UNIT >> 8), 1..UNIT],
    ) {
        let weighting = Weighting::PolicyL1(PolicyL1 { cutoff, passes });
        let [without, with] =
            [&tables.0, &tables.1].map(|rows| histogram_in_quanta(&bounded(rows, bound), weighting, quantum));
        let gifts = gifts(&without, &with);
        prop_assert!(gifts.iter().sum::<u64>() <= UNIT);
        prop_assert!(gifts.iter().all(|gift| gift.is_multiple_of(quantum)));
        prop_assert!(with.values().all(|weight| *weight <= cutoff && weight.is_multiple_of(quantum)));
    }

    #[test]
    fn descent_in_l2_moves_by_the_norm_and_novel_items_get_equal_shares(
        tables in rows_and_user(), bound in 1..9_u64, cutoff in UNIT..3 * UNIT, passes in 1..4_u32,
    ) {
        let norm = PolicyL2::proved_norm(cutoff, passes, u32::try_from(bound).unwrap()).unwrap();
        prop_assert!(norm < UNIT + UNIT / 10_000);
        let weighting = Weighting::PolicyL2(PolicyL2 { cutoff, passes, norm });
        let [without, with] = pair(&tables, bound, weighting);
        let moved = |item| with.get(item).unwrap_or(&0).abs_diff(*without.get(item).unwrap_or(&0));
        let square: u128 = with.keys().map(|item| u128::from(moved(item)).pow(2)).sum();
        prop_assert!(without.keys().all(|item| with.contains_key(item)));
        // These tables are small: nearly none of the slack is used.
        prop_assert!(square <= u128::from(UNIT + 64).pow(2));
        let novel = novel(&with);
        let most = weighting.weight(u32::try_from(novel.len()).unwrap());
        let least = PolicyL2::least_novel_weight(u32::try_from(bound).unwrap());
        prop_assert!(novel.iter().all(|weight| *weight <= most && *weight >= least));
        prop_assert!(novel.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn greedy_moves_one_unit(
        tables in rows_and_user(), bound in 1..9_u64, cutoff in UNIT..3 * UNIT,
    ) {
        let [without, with] = pair(&tables, bound, Weighting::Greedy(Greedy { cutoff }));
        prop_assert!(gifts(&without, &with).iter().sum::<u64>() <= UNIT);
        let whole = Weighting::Greedy(Greedy { cutoff: cutoff / UNIT * UNIT });
        let [without, with] = pair(&tables, bound, whole);
        let gifts = gifts(&without, &with);
        prop_assert!(gifts.is_empty() || gifts == [UNIT]);
    }

    /// Codes go by first appearance, so turning the rows around changes them all. All counts are doubled.
    #[test]
    fn neither_codes_nor_duplicates_matter(
        rows in prop::collection::vec((0..25_u64, 0..12_u64), 1..120), bound in 1..9_u64,
    ) {
        let mut other = rows.clone();
        other.reverse();
        other.extend_from_slice(&rows);
        for weighting in [
            Weighting::PolicyL1(PolicyL1 { cutoff: 2 * UNIT, passes: 2 }),
            Weighting::PolicyL2(PolicyL2 { cutoff: 2 * UNIT, passes: 2, norm: UNIT }),
            Weighting::Greedy(Greedy { cutoff: 2 * UNIT }),
        ] {
            let of = |rows| histogram(&bounded_in(order_for(weighting), rows, bound), weighting);
            prop_assert_eq!(of(&rows), of(&other));
        }
    }
}
