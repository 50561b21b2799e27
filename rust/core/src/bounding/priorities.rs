//! The order of priority of a user's items.

use dpsel_exact::random::{
    CodedWords, Digest, PairWords, Purpose, ReleaseKey, code_of, order_ties, with_code,
};
use dpsel_rows::contributions::Lineage;

use super::ancestor_order::ClosedOrder;

/// Items ordered at a time, in multiples of D0. Ordering only the first items saves most of the work for users of many
/// items. Four times D0 items are enough for all rounds of nearly every user.
pub const AHEAD: usize = 4;

/// Items by their places among many.
#[derive(Debug, Clone, Copy)]
pub struct PlacedItems<'a> {
    /// The item of each place.
    pub digests: &'a [Digest],
    /// Which places stand above which, if items stand above others.
    pub lineage: Option<&'a Lineage>,
}

/// Puts items of a user in the order of PRF(key, "bound", user, item), whose words are distinct.
#[derive(Debug, Clone)]
pub struct Priorities(PairWords);

impl Priorities {
    /// Those under a key.
    #[must_use]
    pub fn new(key: &ReleaseKey) -> Self {
        Self(PairWords::new(key, Purpose::Bound))
    }

    /// Put the first `first` items by priority, or all if there are fewer, before the others, in this order. Returns
    /// how many items stand in order then, which may be somewhat more. `keyed` is a buffer.
    pub fn order(
        &self,
        user: Digest,
        items: &mut [u32],
        digest: impl Fn(u32) -> Digest,
        first: usize,
        keyed: &mut CodedWords,
    ) -> usize {
        keyed.whole.clear();
        keyed.whole.extend(items.iter().map(|&item| digest(item).0));
        self.order_digested(user, items, digest, first, keyed)
    }

    /// Put all items, of which some stand above others, in an order of priority in which each stands behind those above it.
    pub(super) fn order_closed(
        &self,
        user: Digest,
        items: &mut [u32],
        digest: impl Fn(u32) -> Digest,
        lineage: &Lineage,
        keyed: &mut CodedWords,
    ) {
        let words = &mut keyed.whole;
        words.clear();
        words.extend(items.iter().map(|&item| digest(item).0));
        self.0.fill_for_user(user, words);
        ClosedOrder::default().order(items, words, lineage);
    }

    /// As [`Self::order`], of the places of items. Where some stand above others, each stands behind those above it, and
    /// all are put in order.
    pub fn order_places(
        &self,
        user: Digest,
        places: &mut [u32],
        items: PlacedItems<'_>,
        first: usize,
        keyed: &mut CodedWords,
    ) -> usize {
        let digest = |place: u32| items.digests[place as usize];
        let Some(lineage) = items.lineage else { return self.order(user, places, digest, first, keyed) };
        self.order_closed(user, places, digest, lineage, keyed);
        places.len()
    }

    /// As [`Self::order`]; `keyed.whole` has the digests of the items.
    pub(super) fn order_digested(
        &self,
        user: Digest,
        items: &mut [u32],
        digest: impl Fn(u32) -> Digest,
        first: usize,
        keyed: &mut CodedWords,
    ) -> usize {
        let CodedWords { whole, words, .. } = keyed;
        self.0.fill_for_user(user, whole);
        words.clear();
        words.extend(whole.iter().zip(items.iter()).map(|(word, item)| with_code(*word, *item)));
        let first = keyed.sort_first(first);
        order_ties(&mut keyed.words[..first], |item| {
            let mut word = [digest(item).0];
            self.0.fill_for_user(user, &mut word);
            word[0]
        });
        for (item, word) in items.iter_mut().zip(&keyed.words) {
            *item = code_of(*word);
        }
        first
    }
}
