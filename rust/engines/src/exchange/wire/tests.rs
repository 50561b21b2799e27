//! Values survive the wire, and damaged ones are refused.

use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_rows::contributions::ContributionsBuilder;
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use super::weights::push_weight;
use super::*;

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
        let packed = pack_user_counts(items, Buckets::new(number).unwrap());
        let (mut found, mut targets) = (Vec::new(), Vec::new());
        for batch in packed.into_batches().unwrap() {
            for (target, packed) in bucketed_values(&batch).unwrap() {
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

    #[test]
    fn dictionaries_survive(dictionary in prop::collection::vec((any::<u128>(), any::<u32>()), 0..20), rest: u8) {
        let dictionary: Vec<(Digest, u32)> =
            dictionary.into_iter().map(|(item, users)| (Digest(item), users)).collect();
        let mut packed = Vec::new();
        push_dictionary(&dictionary, &mut packed);
        packed.push(rest);
        let mut left = packed.as_slice();
        prop_assert_eq!(take_dictionary(&mut left).unwrap(), dictionary);
        prop_assert_eq!(left, [rest]);
    }

    #[test]
    fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpack_weights(&packed, &mut Vec::new());
        let control = Control::default();
        let dictionaries = Dictionaries::new(&ReleaseKey::insecure_test([0; 32]));
        let _ = unpack(&packed, &dictionaries, &ContributionsBuilder::new(&control));
        let _ = unpack_user_counts(&packed, &mut Vec::new());
        let _ = UserCounts::unpack(1, &packed);
        let _ = take_dictionary(&mut packed.as_slice());
    }
}
