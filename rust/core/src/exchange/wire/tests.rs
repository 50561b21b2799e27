//! Values survive the wire, and damaged ones are refused.

use proptest::prelude::*;

use super::weights::push_weight;
use super::*;
use crate::contributions::ContributionsBuilder;
use crate::random::{Digest, ReleaseKey};
use crate::runtime::Control;

proptest! {
    #[test]
    fn weights_survive(weights in prop::collection::vec((any::<u128>(), any::<u64>()), 0..50)) {
        let mut packed = Vec::new();
        for (item, weight) in &weights {
            push_weight(Digest(*item), *weight, &mut packed);
        }
        let mut found = Vec::new();
        unpack_weights(&packed, &mut found).unwrap();
        prop_assert_eq!(found, weights.iter().map(|(item, w)| (Digest(*item), *w)).collect::<Vec<_>>());
    }

    #[test]
    fn user_counts_survive(counts in prop::collection::vec((any::<u128>(), 1_u32..300), 0..50), number in 1_u32..9) {
        let items = counts.iter().map(|(item, users)| (Digest(*item), *users));
        let packed = pack_user_counts(items, Partitions::new(number).unwrap());
        let (mut found, mut targets) = (Vec::new(), Vec::new());
        for batch in packed.into_batches().unwrap() {
            for (target, packed) in partitioned_values(&batch).unwrap() {
                targets.push(target);
                unpack_user_counts(packed, &mut found).unwrap();
            }
        }
        let mut by_hash: Vec<(u32, u32)> =
            counts.iter().map(|(item, users)| (u32::try_from(*item >> 96).unwrap(), *users)).collect();
        add_up(&mut by_hash);
        prop_assert_eq!(found, by_hash);
        prop_assert!(targets.iter().all(|target| (-1 - i32::try_from(number).unwrap()..0).contains(target)));
    }

    /// Users within the bound have their items in any order, so their ranks count from 0.
    #[test]
    fn pruned_users_survive(
        dictionary in prop::collection::vec((any::<u128>(), any::<u32>()), 5),
        users in prop::collection::vec(prop::collection::btree_set(0_u64..9, 0..5), 0..20),
        bound in 1_u32..12,
    ) {
        let dictionary: Vec<(Digest, u32)> =
            dictionary.into_iter().map(|(item, users)| (Digest(item), users)).collect();
        let mut writer = PrunedWriter::default();
        for (place, (item, users)) in (0..).zip(&dictionary) {
            prop_assert_eq!(writer.add_item(*item, *users), place);
        }
        let mut written = Vec::new();
        for ranks in users {
            let total = if bound < 9 { 9 } else { ranks.len() };
            let kept: Vec<PrunedItem> = ranks
                .into_iter()
                .enumerate()
                .map(|(place, rank)| PrunedItem { place, rank: if bound < 9 { rank } else { place as u64 } })
                .collect();
            writer.add_user(total, bound as usize, &kept);
            written.push((total as u64, kept));
        }
        let Some(packed) = writer.finish() else {
            prop_assert!(written.is_empty());
            return Ok(());
        };
        let read = PrunedUsers::unpack(&packed).unwrap();
        prop_assert_eq!(&read.dictionary, &dictionary);
        let mut found = Vec::new();
        read.each_user(bound, |total, kept| found.push((total, kept.to_vec()))).unwrap();
        prop_assert_eq!(found, written);
    }

    #[test]
    fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpack_weights(&packed, &mut Vec::new());
        let control = Control::default();
        let dictionaries = Dictionaries::new(&ReleaseKey::insecure_test([0; 32]));
        let _ = unpack(&packed, &dictionaries, &ContributionsBuilder::new(&control));
        let _ = unpack_user_counts(&packed, &mut Vec::new());
        let _ = UserCounts::unpack(1, &packed);
        if let Ok(users) = PrunedUsers::unpack(&packed) {
            let _ = users.each_user(3, |_, _| {});
        }
    }
}
