//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item).

use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::{Contributions, Digests, ItemCode, Vocabulary};
use crate::control::Control;
use crate::parallel;
use crate::random::{Digest, PairWords, Purpose, ReleaseKey};

/// Contributions of at most D0 items per user. Only this module makes them, and only they can be weighed.
///
/// A user with more items has them in order of priority: its kept items are the first D0, the others are its reserve.
/// Released items leave the slice without changing the order, so the reserve moves up.
#[derive(Debug)]
pub struct BoundedContributions {
    contributions: Contributions,
    bound: u32,
}

impl BoundedContributions {
    /// Bound every user.
    ///
    /// # Errors
    /// Interruption.
    pub fn new(
        contributions: Contributions,
        bound: L0Bound,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Self> {
        let mut bounded = Self { contributions, bound: bound.get() };
        let priorities = PairWords::new(key, Purpose::Bound);
        let bound = bound.get() as usize;
        bounded.for_each_part(control, |part| {
            let mut keyed = Vec::new();
            part.each_user(|user, items, digests| {
                if items.len() > bound {
                    sort_by_priority(user, items, digests, &priorities, &mut keyed);
                }
                items.len()
            });
        });
        control.check()?;
        Ok(bounded)
    }

    /// Take released items out of every user's set and bound again with the same priorities.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn remove(&mut self, released: &ItemSet, control: &Control) -> Result<()> {
        self.for_each_part(control, |part| {
            part.each_user(|_, items, _| {
                let mut left = 0;
                for read in 0..items.len() {
                    let item = items[read];
                    items[left] = item;
                    left += usize::from(!released.contains(ItemCode(item)));
                }
                left
            });
        });
        control.check()
    }

    /// What is known of each item.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.contributions.vocabulary
    }

    /// The most items a user keeps.
    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    /// Ranges of users with about equal numbers of rows, one per thread worth starting.
    pub(crate) fn user_ranges(&self, control: &Control) -> Vec<std::ops::Range<usize>> {
        let threads = parallel::threads_for(self.contributions.items.as_slice().len(), control);
        let mut first = 0;
        parallel::balanced_ends(&self.contributions.lens, threads)
            .into_iter()
            .map(|end| std::mem::replace(&mut first, end)..end)
            .collect()
    }

    /// The kept items of a user.
    pub(crate) fn kept_items(&self, user: usize) -> &[u32] {
        let start = self.contributions.starts[user];
        &self.contributions.items.as_slice()
            [start..start + self.contributions.lens[user].min(self.bound) as usize]
    }

    fn for_each_part(&mut self, control: &Control, job: impl Fn(&mut Part<'_>) + Sync) {
        let ranges = self.user_ranges(control);
        let c = &mut self.contributions;
        let digests = c.vocabulary.digests();
        let (mut items, mut lens) = (c.items.as_mut_slice(), c.lens.as_mut_slice());
        let mut first_item = 0;
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            let end_item = c.starts.get(range.end).copied().unwrap_or(first_item + items.len());
            let (part_items, rest_items) = items.split_at_mut(end_item - first_item);
            let (part_lens, rest_lens) = lens.split_at_mut(range.len());
            let (users, starts) = (&c.users[range.clone()], &c.starts[range]);
            let part =
                Part { users, starts, digests: &digests, first_item, items: part_items, lens: part_lens };
            parts.push(part);
            (items, lens, first_item) = (rest_items, rest_lens, end_item);
        }
        parallel::map(parts, |mut part| job(&mut part));
    }
}

/// A range of users and their part of the arrays, worked on by one thread.
struct Part<'a> {
    users: &'a [Digest],
    starts: &'a [usize],
    digests: &'a Digests<'a>,
    first_item: usize,
    items: &'a mut [u32],
    lens: &'a mut [u32],
}

impl Part<'_> {
    /// Call `job(user, its items, all digests)` for every user; it returns how many items the user has then.
    fn each_user(&mut self, mut job: impl FnMut(Digest, &mut [u32], &Digests<'_>) -> usize) {
        for ((&user, start), len) in self.users.iter().zip(self.starts).zip(self.lens.iter_mut()) {
            let items = &mut self.items[start - self.first_item..][..*len as usize];
            *len = u32::try_from(job(user, items, self.digests)).unwrap_or(*len);
        }
    }
}

/// Order items by PRF(key, "bound", user, item). Ties need equal leading 96 bits: for a user of n items they
/// happen with probability below n^2 / 2^97, and then the choice between the two depends on their codes.
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits hold the item's code")]
fn sort_by_priority(
    user: Digest,
    items: &mut [u32],
    digests: &Digests<'_>,
    priorities: &PairWords,
    keyed: &mut Vec<u128>,
) {
    keyed.clear();
    keyed.extend(items.iter().map(|&item| digests.get(ItemCode(item)).0));
    priorities.fill_for_user(user, keyed);
    for (word, &item) in keyed.iter_mut().zip(items.iter()) {
        *word = *word >> 32 << 32 | u128::from(item);
    }
    keyed.sort_unstable();
    for (item, word) in items.iter_mut().zip(keyed.iter()) {
        *item = *word as u32;
    }
}

/// A set of item codes as a bitmap.
#[derive(Debug, Clone)]
pub(crate) struct ItemSet(Vec<u64>);

impl ItemSet {
    /// The empty set of codes below `code_bound`.
    pub(crate) fn new(code_bound: usize) -> Self {
        Self(vec![0; code_bound.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, item: ItemCode) {
        self.0[item.index() / 64] |= 1 << (item.index() % 64);
    }

    pub(crate) fn contains(&self, item: ItemCode) -> bool {
        self.0[item.index() / 64] >> (item.index() % 64) & 1 == 1
    }
}
