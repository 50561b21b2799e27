//! The order of a user's items where some stand above others: each behind those above it.
//!
//! So the first items, however many a user keeps, are *closed*: with an item all items above it are kept. The proof of
//! `Steered` needs that (`docs/algorithms/descent.md`).

use std::cmp::Reverse;

use dpsel_rows::contributions::Lineage;

/// An item of a user.
#[derive(Debug, Clone, Copy)]
struct Placed {
    item: u32,
    priority: u128,
    /// The smallest priority of the user's items that are this one or below it.
    first_below: u128,
}

/// The buffer that brings items of a user into this order.
#[derive(Debug, Default)]
pub(super) struct ClosedOrder(Vec<Placed>);

impl ClosedOrder {
    /// Bring the items of a user into order, given the priority of each.
    ///
    /// The user takes its items by priority, each behind those of the items above it that do not stand in order yet.
    pub(super) fn order(&mut self, items: &mut [u32], priorities: &[u128], lineage: &Lineage) {
        let Self(placed) = self;
        placed.clear();
        let each = items.iter().zip(priorities);
        placed.extend(each.map(|(&item, &priority)| Placed { item, priority, first_below: priority }));
        // From below, so that each item is known when those above it are looked at.
        let from_below = |placed: &Placed| (Reverse(lineage.level(placed.item)), placed.item);
        placed.sort_unstable_by_key(from_below);
        for at in 0..placed.len() {
            let Placed { item, first_below, .. } = placed[at];
            for above in lineage.above(item) {
                let wanted = (Reverse(lineage.level(above)), above);
                if let Ok(place) = placed.binary_search_by_key(&wanted, from_below) {
                    placed[place].first_below = first_below.min(placed[place].first_below);
                }
            }
        }
        placed
            .sort_unstable_by_key(|placed| (placed.first_below, lineage.level(placed.item), placed.priority));
        items.iter_mut().zip(&*placed).for_each(|(item, placed)| *item = placed.item);
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::paths;
    use dpsel_rows::runtime::Control;

    use crate::bounding::BoundedContributions;

    #[test]
    fn whatever_a_user_keeps_is_closed() {
        let parts = |n: u32| [n % 3, n / 3 % 3, n / 9 % 4, n / 36].map(|part| part.to_string());
        let rows: Vec<(i64, String)> =
            (0..108_u32).map(|n| (i64::from(n % 2), parts(n)[..=(n % 4) as usize].join("/"))).collect();
        let key = ReleaseKey::insecure_test([5; 32]);
        for bound in 1..80 {
            let contributions = paths(&rows, "/", &key);
            let limit = L0Bound::new(bound).unwrap();
            let kept = BoundedContributions::new(contributions, limit, &key, &Control::default()).unwrap();
            let lineage = kept.vocabulary().keys().lineage().unwrap();
            for user in 0..kept.users() {
                let items = kept.kept_items(user);
                assert!(items.iter().all(|item| lineage.above(*item).all(|above| items.contains(&above))));
            }
        }
    }
}
