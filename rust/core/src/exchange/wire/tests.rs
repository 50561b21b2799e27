//! Values survive the wire, and damaged ones are refused.

use proptest::prelude::*;

use super::weights::push_weight;
use super::*;
use crate::contributions::{ContributionsBuilder, KeyLayout};
use crate::random::{Digest, ReleaseKey};
use crate::rounds::ItemState;
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
    fn messages_survive(
        parts in prop::collection::vec((any::<u128>(), any::<u64>(), any::<(i64, u32, u16)>()), 0..50),
    ) {
        let messages: Vec<Message> = parts
            .into_iter()
            .map(|(item, weight, (score, exposure, importance))| {
                Message { item: Digest(item), weight, state: ItemState { score, exposure, importance } }
            })
            .collect();
        let (mut packed, mut alone) = (Vec::new(), Vec::new());
        for message in &messages {
            message.pack(&mut packed);
            message.pack_state(&mut alone);
        }
        let (mut found, mut states) = (Vec::new(), States::default());
        unpack_messages(&packed, |message| found.push(message)).unwrap();
        unpack_states(&alone, &mut states).unwrap();
        prop_assert!(messages.iter().all(|message| states[&message.item] == message.state));
        prop_assert_eq!(found, messages);
    }

    #[test]
    fn damaged_values_are_refused(packed in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpack_weights(&packed, &mut Vec::new());
        let _ = unpack_messages(&packed, |_| {});
        let _ = unpack_states(&packed, &mut States::default());
        let control = Control::default();
        let dictionaries = Dictionaries::new(&ReleaseKey::insecure_test([0; 32]));
        let _ = unpack(&packed, &dictionaries, &ContributionsBuilder::new(KeyLayout::Words, &control));
        let _ = unpack_user_counts(&packed, &mut Vec::new());
        let _ = UserCounts::unpack(1, &packed);
        if let Ok(users) = PrunedUsers::unpack(&packed) {
            let _ = users.each_user(3, |_, _| {});
        }
    }
}
