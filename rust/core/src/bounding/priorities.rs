//! The order of priority of a user's items.

use dpsel_exact::random::{
    CodedWords, Digest, PairWords, Purpose, ReleaseKey, code_of, order_ties, with_code,
};

/// Items ordered at a time, in multiples of D0. Ordering only the first items saves most of the work for users of many
/// items. Four times D0 items are enough for all rounds of nearly every user.
pub const AHEAD: usize = 4;

/// Puts items of a user in the order of PRF(key, "bound", user, item), whose words are distinct.
#[derive(Debug, Clone)]
pub struct Priorities(PairWords);

impl Priorities {
    /// Those under a key.
    #[must_use]
    pub fn new(key: &ReleaseKey) -> Self {
        Self(PairWords::new(key, Purpose::Bound))
    }

    /// Replace the digests of items by their priorities for a user.
    pub(super) fn fill(&self, user: Digest, digests: &mut [u128]) {
        self.0.fill_for_user(user, digests);
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
