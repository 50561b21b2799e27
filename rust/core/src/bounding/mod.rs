//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item).

use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::{Contributions, ItemCode, Vocabulary};
use crate::control::Control;
use crate::parallel;
use crate::random::{Digest, PairWords, Purpose, ReleaseKey};

/// Contributions of at most D0 items per user. Only this module makes them, and only they can be weighed.
///
/// A user's slice holds its kept items first and the others, its reserve, behind them. When items are
/// released they leave the slice, and the reserve's smallest priorities move up.
#[derive(Debug)]
pub struct BoundedContributions {
    contributions: Contributions,
    /// How many items of each user's slice are kept; at most `bound`.
    kept: Vec<u32>,
    bound: u32,
    priorities: PairWords,
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
        let kept = vec![0; contributions.lens.len()];
        let priorities = PairWords::new(key, Purpose::Bound);
        let mut bounded = Self { contributions, kept, bound: bound.get(), priorities };
        bounded.for_each_part(control, |part| part.each_user(|user| user.refill(0)));
        control.check()?;
        Ok(bounded)
    }

    /// Take released items out of every user's set and bound again with the same priorities.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn remove(&mut self, released: &ItemSet, control: &Control) -> Result<()> {
        self.for_each_part(control, |part| {
            part.each_user(|user| {
                let kept = user.retain_unreleased(released);
                user.refill(kept);
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
        &self.contributions.items.as_slice()[start..start + self.kept[user] as usize]
    }

    fn for_each_part(&mut self, control: &Control, job: impl Fn(&mut Part<'_>) + Sync) {
        let ranges = self.user_ranges(control);
        let c = &mut self.contributions;
        let shared = Shared {
            users: &c.users,
            starts: &c.starts,
            vocabulary: &c.vocabulary,
            priorities: &self.priorities,
            bound: self.bound as usize,
        };
        let (mut items, mut lens, mut kept) = (c.items.as_mut_slice(), &mut c.lens[..], &mut self.kept[..]);
        let mut first_item = 0;
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            let end_item = c.starts.get(range.end).copied().unwrap_or(first_item + items.len());
            let (part_items, rest_items) = items.split_at_mut(end_item - first_item);
            let (part_lens, rest_lens) = lens.split_at_mut(range.len());
            let (part_kept, rest_kept) = kept.split_at_mut(range.len());
            parts.push(Part {
                shared,
                first_user: range.start,
                first_item,
                items: part_items,
                lens: part_lens,
                kept: part_kept,
            });
            (items, lens, kept, first_item) = (rest_items, rest_lens, rest_kept, end_item);
        }
        parallel::map(parts, |mut part| job(&mut part));
    }
}

/// What all parts read.
#[derive(Clone, Copy)]
struct Shared<'a> {
    users: &'a [Digest],
    starts: &'a [usize],
    vocabulary: &'a Vocabulary,
    priorities: &'a PairWords,
    bound: usize,
}

/// A range of users and their part of the arrays, worked on by one thread.
struct Part<'a> {
    shared: Shared<'a>,
    first_user: usize,
    first_item: usize,
    items: &'a mut [u32],
    lens: &'a mut [u32],
    kept: &'a mut [u32],
}

impl Part<'_> {
    fn each_user(&mut self, mut job: impl FnMut(&mut User<'_>)) {
        let mut scratch = Scratch::default();
        for local in 0..self.lens.len() {
            let len = self.lens[local] as usize;
            if len == 0 {
                continue;
            }
            let index = self.first_user + local;
            let start = self.shared.starts[index] - self.first_item;
            let mut user = User {
                shared: self.shared,
                digest: self.shared.users[index],
                items: &mut self.items[start..start + len],
                kept: &mut self.kept[local],
                scratch: &mut scratch,
                len: &mut self.lens[local],
            };
            job(&mut user);
        }
    }
}

#[derive(Default)]
struct Scratch {
    words: Vec<u128>,
    sorted: Vec<u128>,
}

/// One user's slice.
struct User<'a> {
    shared: Shared<'a>,
    digest: Digest,
    items: &'a mut [u32],
    len: &'a mut u32,
    kept: &'a mut u32,
    scratch: &'a mut Scratch,
}

impl User<'_> {
    /// Drop released items from the kept part and from the reserve; returns how many kept ones are left.
    fn retain_unreleased(&mut self, released: &ItemSet) -> usize {
        let kept_before = *self.kept as usize;
        let mut write = 0;
        let mut kept = 0;
        for read in 0..self.items.len() {
            let item = self.items[read];
            if !released.contains(ItemCode(item)) {
                self.items[write] = item;
                write += 1;
                kept += usize::from(read < kept_before);
            }
        }
        *self.len = write as u32;
        kept
    }

    /// Given that the first `kept` items are kept already, fill up to the bound with those of the reserve that have
    /// the smallest priorities. They are distinct: the items' digests are, and the cipher is a permutation.
    fn refill(&mut self, kept: usize) {
        let len = *self.len as usize;
        let wanted = self.shared.bound.min(len);
        *self.kept = wanted as u32;
        let missing = wanted - kept;
        let reserve = &mut self.items[kept..len];
        if missing == 0 || missing == reserve.len() {
            return;
        }
        let Scratch { words, sorted } = &mut *self.scratch;
        words.clear();
        words.extend(reserve.iter().map(|&item| self.shared.vocabulary.digest(ItemCode(item)).0));
        self.shared.priorities.fill_for_user(self.digest, words);
        sorted.clear();
        sorted.extend_from_slice(words);
        let cut = *sorted.select_nth_unstable(missing - 1).1;
        let mut front = 0;
        for read in 0..reserve.len() {
            if words[read] <= cut {
                // `words` lags behind the swaps, but only positions before `read` change.
                reserve.swap(front, read);
                front += 1;
            }
        }
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
