//! The table against a map, with keys that share homes and tags on purpose.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::sharding::Sharding;
use super::super::testing::{placed, placed_digests};
use super::*;

impl Table {
    /// Each key is where it belongs, and nothing else is there.
    fn check(&self, known: &[u128]) {
        let buckets = self.buckets.as_slice();
        let layout = Layout::of(buckets.len());
        let mut numbers: Vec<u32> = self.overflow.values().copied().collect();
        for (digest, number) in &self.overflow {
            let (home, _) = layout.home_and_tag(Digest(*digest));
            assert_eq!((buckets[home].filled(), known[*number as usize - 1]), (SLOTS, *digest));
        }
        for (at, bucket) in buckets.iter().enumerate() {
            let (used, free) = bucket.0.split_at(bucket.filled());
            assert!(free.iter().all(|slot| *slot == 0));
            for slot in used {
                let number = slot & layout.numbers;
                let digest = Digest(known[number as usize - 1]);
                assert_eq!(layout.home_and_tag(digest), (at, slot - number));
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq((1..).take(known.len())));
    }

    /// Add keys as a shard does.
    fn add(&mut self, keys: &[Digest], known: &mut Vec<u128>) -> Vec<u32> {
        self.make_room(known.len() + keys.len());
        let mut table = self.filling();
        let number = |key: &Digest| {
            let next = Some(u32::try_from(known.len()).unwrap() + 1);
            let number = table.number(*key, known, next).unwrap();
            if Some(number) == next {
                known.push(key.0);
            }
            number
        };
        keys.iter().map(number).collect()
    }
}

proptest! {
    #[test]
    fn numbers_are_those_of_a_map(groups in prop::collection::vec(prop::collection::vec(placed_digests(), 0..80), 0..20)) {
        let (mut table, mut known, mut model) = (Table::default(), Vec::new(), BTreeMap::new());
        for group in groups {
            let before = table.bytes();
            let numbers = table.add(&group, &mut known);
            for (key, number) in group.iter().zip(numbers) {
                let next = u32::try_from(model.len()).unwrap() + 1;
                prop_assert_eq!(*model.entry(*key).or_insert(next), number);
            }
            prop_assert!(table.bytes() >= before);
            table.check(&known);
        }
        // A key that shares the leading 28 bits with none is found at once, unless its home was full.
        let mut found = [7; AHEAD];
        for (key, number) in &model {
            table.candidates(&[*key], &mut found);
            let alike = known.iter().filter(|digest| (**digest ^ key.0) & 0xffff_fff0 == 0).count();
            if alike == 1 && !table.overflow.contains_key(&key.0) {
                prop_assert_eq!(found[0], *number);
            }
        }
        // None is left for a new key.
        let mut filling = table.filling();
        for (key, number) in &model {
            prop_assert_eq!(filling.number(*key, &known, None), Some(*number));
            let other = Digest(key.0 | 1 << 100);
            prop_assert_eq!(filling.number(other, &known, None), None);
        }
        table.check(&known);
    }
}

#[test]
fn keys_leave_the_overflow_when_their_homes_have_room() {
    // 60 keys that a table of 4 buckets has in one, and one of 16 buckets in four.
    let keys: Vec<Digest> = (0..60).map(|place| placed(place << 24, 0)).collect();
    let (mut table, mut known) = (Table::default(), Vec::new());
    table.make_room(1);
    for part in keys.chunks(8) {
        let mut filling = table.filling();
        for key in part {
            let next = Some(u32::try_from(known.len()).unwrap() + 1);
            assert_eq!(filling.number(*key, &known, next), next);
            known.push(key.0);
        }
        table.check(&known);
    }
    for (buckets, late) in [(4, 44), (8, 28), (16, 0), (32, 0)] {
        assert_eq!((table.buckets.len(), table.overflow.len()), (buckets, late));
        table.check(&known);
        let bytes = table.bytes();
        table.double();
        assert!(table.bytes() > bytes);
    }
    assert_eq!(table.add(&keys, &mut known), (1..=60).collect::<Vec<_>>());
}

#[test]
fn keys_of_one_place_stay_in_the_overflow() {
    let keys: Vec<Digest> = (0..100).map(|other| placed(u32::MAX, other)).collect();
    let (mut table, mut known) = (Table::default(), Vec::new());
    for _ in 0..2 {
        assert_eq!(table.add(&keys, &mut known), (1..=100).collect::<Vec<_>>());
        table.make_room(1000);
        table.check(&known);
        assert_eq!(table.overflow.len(), 100 - SLOTS);
    }
}

#[test]
fn places_follow_from_places_in_the_table_of_half_the_size() {
    let places = [0, 1, u32::MAX, u32::MAX >> 1, 0x9e37_79b9, 0x0123_4567];
    for bits in 2..27 {
        let (small, large) = (Layout::of(1 << bits), Layout::of(2 << bits));
        for place in places {
            let ((home, tag), next) =
                (small.home_and_tag(placed(place, 9)), large.home_and_tag(placed(place, 9)));
            assert_eq!(next, (2 * home + (tag >> 31) as usize, tag << 1));
            for number in [1, small.numbers] {
                let slots = std::array::from_fn(|_| tag | number);
                let halves = Bucket(slots).divided(small.numbers);
                assert_eq!(halves[next.0 % 2].0, [next.1 | number; SLOTS]);
                assert_eq!(halves[1 - next.0 % 2].filled(), 0);
            }
        }
    }
}

/// The largest table has at least one bit for a tag.
#[test]
fn the_largest_table_holds_the_keys_of_a_shard() {
    assert!(Sharding::for_threads(1).capacity() + AHEAD < (1 << 27) * FILL);
    assert_eq!(Layout::of(1 << 27).numbers, u32::MAX >> 1);
}
