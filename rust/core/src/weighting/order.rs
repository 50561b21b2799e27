//! The common order of users for weightings in which each user sees the weights of the users before it.

use dpsel_exact::Result;
use dpsel_exact::random::{Digest, Purpose, ReleaseKey, Words, code_of, order_ties, with_code};
use dpsel_rows::contributions::ItemCode;
use dpsel_rows::runtime::{Control, TALLIED, WEIGHING};

use crate::bounding::BoundedContributions;

/// Bytes of the order of so many users, and of so many for each item code, which are held until the weights are found.
pub(super) fn bytes(codes: usize, users: usize, of_item: usize) -> usize {
    codes * of_item + users * 20
}

/// The users of one round and the order in which they come.
#[derive(Clone, Copy)]
pub(super) struct Visits<'a> {
    pub(super) contributions: &'a BoundedContributions,
    pub(super) key: &'a ReleaseKey,
    pub(super) control: &'a Control,
}

impl Visits<'_> {
    /// Show the kept items of every user that has some, users in the same order in each of the `passes`.
    ///
    /// The order depends on the users' digests and the key alone. So adding a user changes nothing about the order of
    /// the others.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn run(&self, passes: u32, mut visit: impl FnMut(&[u32])) -> Result<()> {
        let users = in_order(self.contributions.user_digests(), self.key);
        let tally = self.control.tally(WEIGHING, users.len() * passes as usize);
        for _ in 0..passes {
            for block in users.chunks(TALLIED) {
                self.control.check()?;
                tally.add(block.len());
                for &user in block {
                    let items = self.contributions.kept_items(user as usize);
                    if !items.is_empty() {
                        visit(items);
                    }
                }
            }
        }
        Ok(())
    }

    /// The leading 64 bits of every item's digest, one for each code.
    pub(super) fn first_words(&self) -> Vec<u64> {
        let vocabulary = self.contributions.vocabulary();
        let mut digests = vec![Digest::default(); vocabulary.code_bound()];
        vocabulary.gather_digests(0, &mut digests);
        digests.iter().map(|digest| (digest.0 >> 64) as u64).collect()
    }

    /// Put items in the order of their digests.
    pub(super) fn by_digest(&self, items: &mut [u32]) {
        let digests = self.contributions.vocabulary().digests();
        items.sort_unstable_by_key(|item| digests.get(ItemCode(*item)));
    }

    /// Count memory that is held until the weights are found.
    ///
    /// # Errors
    /// More memory than allowed.
    pub(super) fn charge(&self, of_item: usize) -> Result<u64> {
        let codes = self.contributions.vocabulary().code_bound();
        let users = self.contributions.user_digests().len();
        let bytes = bytes(codes, users, of_item) as u64;
        self.control.charge_memory(bytes, "weighing the items")?;
        Ok(bytes)
    }
}

/// Users by ascending PRF(key, "order", user), whose words are distinct.
fn in_order(digests: &[Digest], key: &ReleaseKey) -> Vec<u32> {
    let mut words = vec![0; digests.len()];
    let order = Words::new(key, Purpose::Order, 0);
    order.fill(digests, &mut words);
    let mut words: Vec<u64> = words.into_iter().zip(0..).map(|(word, user)| with_code(word, user)).collect();
    words.sort_unstable();
    order_ties(&mut words, |user| order.word(digests[user as usize]));
    words.into_iter().map(code_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_users_does_not_depend_on_who_else_is_there() {
        let key = ReleaseKey::insecure_test([5; 32]);
        let all: Vec<Digest> = (0..1000_u128).map(|i| Digest(i << 90 | i)).collect();
        let every = |step: usize| all.iter().copied().step_by(step).collect::<Vec<_>>();
        let named = |digests: &[Digest]| -> Vec<Digest> {
            in_order(digests, &key).into_iter().map(|user| digests[user as usize]).collect()
        };
        let third = every(3);
        let kept: Vec<_> = named(&all).into_iter().filter(|digest| third.contains(digest)).collect();
        assert_eq!(kept, named(&third));
        assert_ne!(kept, third);
    }
}
