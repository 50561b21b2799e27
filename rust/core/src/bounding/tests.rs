//! Bounding against sorting every user anew.

use std::collections::BTreeMap;

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::random::{Digest, PairWords, Purpose, ReleaseKey};
use dpsel_rows::contributions::testing::contributions;
use dpsel_rows::contributions::{Digests, ItemCode};
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use super::*;

/// The kept items of a user by definition: the first D0 of all that were not released.
fn kept(user: Digest, items: &[u32], digests: &Digests<'_>, bound: usize, key: &ReleaseKey) -> Vec<u32> {
    let mut words: Vec<u128> = items.iter().map(|item| digests.get(ItemCode(*item)).0).collect();
    PairWords::new(key, Purpose::Bound).fill_for_user(user, &mut words);
    let mut keyed: Vec<_> = words.into_iter().zip(items.iter().copied()).collect();
    keyed.sort_unstable();
    keyed.truncate(bound);
    let mut first: Vec<u32> = keyed.into_iter().map(|(_, item)| item).collect();
    first.sort_unstable();
    first
}

proptest! {
    #[test]
    fn users_keep_their_first_items_round_after_round(
        rows in prop::collection::vec((0_u64..3, 0_u64..100), 0..300),
        bound in 1_u32..9,
        // Half of the items a round: what was ordered ahead runs out while there is a reserve.
        releases in prop::collection::vec(prop::collection::vec(any::<bool>(), 1024), 0..5),
    ) {
        let key = ReleaseKey::insecure_test([9; 32]);
        let control = Control::default();
        let original = contributions(&rows, &key);
        let mut left: Vec<Vec<u32>> = original.items_by_user().map(<[u32]>::to_vec).collect();
        let users = original.users.clone();
        let codes = original.vocabulary.code_bound();
        let mut bounded =
            BoundedContributions::new(original, L0Bound::new(bound.into()).unwrap(), &key, &control).unwrap();
        let mut sizes = BTreeMap::new();
        for release in std::iter::once(Vec::new()).chain(releases) {
            let mut released = ItemSet::default();
            let coins = (0..codes).zip(&release).filter(|(_, released)| **released);
            coins.for_each(|(code, _)| released.insert(ItemCode::from_index(code)));
            bounded.remove(&released, &control).unwrap();
            for (user, items) in left.iter_mut().enumerate() {
                items.retain(|item| !released.contains(ItemCode(*item)));
                let mut found = bounded.kept_items(user).to_vec();
                let again = bounded.kept();
                prop_assert_eq!(again.items_of(user), &found);
                found.sort_unstable();
                let digests = bounded.vocabulary().digests();
                prop_assert_eq!(&found, &kept(users[user], items, &digests, bound as usize, &key));
                sizes.insert(user, found.len());
            }
        }
        prop_assert_eq!(sizes.len(), users.len());
    }
}
