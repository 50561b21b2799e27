//! Matchings: whole tables with and without a user, under any ranking of the items, and against brute force.

use super::*;
use crate::weighting::MatchingSlots;

const ITEMS: u64 = 15;

/// The levels of a table, by digest, in which the items have these places.
fn levels(rows: &Rows, bound: u64, matching: MatchingSlots, places: Option<&[i64]>) -> BTreeMap<Digest, u64> {
    let bounded = bounded(rows, bound);
    let codes = bounded.vocabulary().code_bound();
    let mut digests = vec![Digest::default(); codes];
    bounded.vocabulary().gather_digests(0, &mut digests);
    let ranking: Option<Vec<i64>> = places.map(|places| {
        let place =
            |digest: &Digest| (0..places.len() as u64).position(|item| item_digest(item, &key()) == *digest);
        digests.iter().map(|digest| place(digest).map_or(0, |item| places[item])).collect()
    });
    let guidance = Guidance { importances: None, ranking };
    let mut histogram = WeightHistogram::new(codes);
    let weighting = (Weighting::Matching(matching), UNIT);
    weigh_round(&mut histogram, &bounded, weighting, guidance, &key(), &Control::default()).unwrap();
    digests.into_iter().zip(histogram.weights(0..codes)).filter(|(_, weight)| *weight > 0).collect()
}

/// The levels by definition: a slot is kept if the largest matching of the slots so far grows by it.
fn by_ranks(
    rows: &Rows,
    bound: u64,
    matching: MatchingSlots,
    places: Option<&[i64]>,
) -> BTreeMap<Digest, u64> {
    let bounded = bounded(rows, bound);
    let digests = bounded.vocabulary().digests_from(0..bounded.vocabulary().code_bound());
    let users: Vec<Vec<Digest>> = (0..bounded.users())
        .map(|user| bounded.kept_items(user).iter().map(|item| digests[*item as usize]).collect())
        .collect();
    let items = places.map_or(ITEMS, |places| places.len() as u64);
    let mut items: Vec<(i64, Digest)> = (0..items)
        .zip(0..)
        .map(|(item, at): (u64, usize)| (places.map_or(0, |places| -places[at]), item_digest(item, &key())))
        .collect();
    items.sort_unstable();
    let (quota, most) = (matching.quota as usize, matching.most as usize);
    let turns = items.iter().flat_map(|(_, item)| vec![*item; quota.min(most)]);
    let rest = (quota..most).flat_map(|_| items.iter().map(|(_, item)| *item));
    let (mut slots, mut rank, mut levels) = (Vec::new(), 0, BTreeMap::new());
    for slot in turns.chain(rest) {
        slots.push(slot);
        let grown = largest_matching(&users, &slots);
        *levels.entry(slot).or_insert(0) += UNIT * (grown - rank);
        rank = grown;
    }
    levels.retain(|_, level| *level > 0);
    levels
}

/// The size of a largest matching, from nothing, user by user.
fn largest_matching(users: &[Vec<Digest>], slots: &[Digest]) -> u64 {
    fn assign(
        user: usize,
        users: &[Vec<Digest>],
        slots: &[Digest],
        filled: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for slot in 0..slots.len() {
            if seen[slot] || !users[user].contains(&slots[slot]) {
                continue;
            }
            seen[slot] = true;
            if filled[slot].is_none_or(|other| assign(other, users, slots, filled, seen)) {
                filled[slot] = Some(user);
                return true;
            }
        }
        false
    }
    let mut filled = vec![None; slots.len()];
    let assigned = (0..users.len())
        .filter(|user| assign(*user, users, slots, &mut filled, &mut vec![false; slots.len()]))
        .count();
    assigned as u64
}

fn places() -> impl Strategy<Value = Option<Vec<i64>>> {
    prop::option::of(prop::collection::vec(-3..4_i64, usize::try_from(ITEMS).unwrap()))
}

fn matchings() -> impl Strategy<Value = MatchingSlots> {
    (1..5_u32, 1..7_u32).prop_map(|(quota, most)| MatchingSlots { quota, most })
}

proptest! {
    #[test]
    fn adding_a_user_fills_at_most_one_slot_more_and_none_less(
        rows in prop::collection::vec((0..25_u64, 0..12_u64), 0..90),
        added in prop::collection::btree_set(0..ITEMS, 1..8),
        bound in 1..9_u64, matching in matchings(), places in places(),
    ) {
        let with: Rows = rows.iter().copied().chain(added.iter().map(|item| (99, *item))).collect();
        let [without, with] = [&rows, &with].map(|rows| levels(rows, bound, matching, places.as_deref()));
        let gifts = gifts(&without, &with);
        prop_assert!(gifts.is_empty() || gifts == [UNIT]);
    }

    #[test]
    fn kept_slots_are_those_by_which_a_largest_matching_grows(
        rows in prop::collection::vec((0..12_u64, 0..ITEMS), 0..40),
        bound in 1..9_u64, matching in matchings(), places in places(),
    ) {
        let places = places.as_deref();
        prop_assert_eq!(levels(&rows, bound, matching, places), by_ranks(&rows, bound, matching, places));
    }

    /// Codes go by first appearance, and other codes lead searches along other paths.
    #[test]
    fn neither_codes_nor_duplicates_change_levels(
        rows in prop::collection::vec((0..25_u64, 0..12_u64), 1..120),
        bound in 1..9_u64, matching in matchings(), places in places(),
    ) {
        let mut other = rows.clone();
        other.reverse();
        other.extend_from_slice(&rows);
        let of = |rows| levels(rows, bound, matching, places.as_deref());
        prop_assert_eq!(of(&rows), of(&other));
    }
}

/// More items than a sort of few elements takes, most of them with the same place as many others.
#[test]
fn many_items_of_one_place_stay_in_the_order_of_their_digests() {
    let far = i64::MAX / 2;
    for (distinct, step, least) in [(1, 1, 0), (2, 1, 5), (5, 1, -2), (5, 1 << 31, 0), (3, far, -i64::MAX)] {
        let places: Vec<i64> = (0..160).map(|item| least + item * 7 % distinct * step).collect();
        let rows: Rows = (0..90_u64)
            .flat_map(|user| (0..4).map(move |n| (user, (user * 23 + n * n * 31) % 160)))
            .collect();
        let matching = MatchingSlots { quota: 2, most: 3 };
        let filled = levels(&rows, 4, matching, Some(&places));
        assert_eq!(filled, by_ranks(&rows, 4, matching, Some(&places)));
        assert!(filled.len() < 90, "some items have no slot: {}", filled.len());
        // Novel items of one user stand among the others, and change the level of no other item.
        let novel: Rows = rows.iter().copied().chain((0..30).map(|item| (1000, 1000 + item))).collect();
        let mut with = levels(&novel, 30, matching, Some(&places));
        with.retain(|digest, _| filled.contains_key(digest));
        assert_eq!(with, filled);
    }
}

/// A chain of items, each of which finds a user only if the whole chain before it moves.
#[test]
fn users_move_along_long_chains() {
    // User n holds the items n and n + 1, so every item has a slot if the chain moves, but one.
    let rows: Rows = (0..2_000_u64).flat_map(|user| [(user, user), (user, user + 1)]).collect();
    let filled = levels(&rows, 2, MatchingSlots { quota: 1, most: 1 }, None);
    assert_eq!(filled.len(), 2_000);
    let twice = levels(&rows, 2, MatchingSlots { quota: 1, most: 2 }, None);
    assert_eq!(twice.values().sum::<u64>(), 2_000 * UNIT);
}

#[test]
fn an_interrupted_job_fails() {
    let control = Control::default();
    let bounded = bounded(&vec![(1, 1), (2, 1)], 2);
    let mut histogram = WeightHistogram::new(bounded.vocabulary().code_bound());
    control.progress().cancel();
    let weighting = (Weighting::Matching(MatchingSlots { quota: 1, most: 1 }), UNIT);
    let failed = weigh_round(&mut histogram, &bounded, weighting, Guidance::default(), &key(), &control);
    assert!(matches!(failed, Err(dpsel_exact::Error::Interrupted)));
}
