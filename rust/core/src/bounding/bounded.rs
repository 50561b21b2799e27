//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item), or the first ones
//! where its items stand in an order of preference.

use std::ops::Range;

use super::item_set::ItemSet;
use super::kept_rows::{KeptRows, ranges};
use super::priorities::{AHEAD, Priorities};
use crate::Result;
use crate::accounting::L0Bound;
use crate::contributions::{Contributions, Digests, ItemCode, Vocabulary};
use crate::random::{CodedWords, Digest, ReleaseKey};
use crate::runtime::{Control, REMOVING, TALLIED, Tally, parallel};

/// Contributions of at most D0 items per user. Only this module makes them, and only they can be weighed.
///
/// A user with more items keeps the first D0 in order of priority. The other items are its reserve. Released items
/// leave the slice without changing the order, so that items of the reserve move up.
#[derive(Debug)]
pub struct BoundedContributions {
    contributions: Contributions,
    bound: u32,
    priorities: Priorities,
    /// For each user, the length of the sorted prefix of its items. The prefix has all kept items, and usually some of
    /// the reserve.
    ordered: Vec<u32>,
}

impl BoundedContributions {
    /// Bring the first items of every user into order. [`Self::kept_items`] then cuts at the bound.
    ///
    /// # Errors
    /// Interruption.
    pub fn new(
        contributions: Contributions,
        bound: L0Bound,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Self> {
        let priorities = Priorities::new(key);
        // Items that come in an order of preference count as sorted: that order replaces the one of the priorities.
        let ordered = vec![if contributions.in_order { u32::MAX } else { 0 }; contributions.users.len()];
        let mut bounded = Self { contributions, bound: bound.get(), priorities, ordered };
        let tally = control.tally(100, bounded.users());
        bounded.for_each_user(control, tally, |user, order| order.restore(user));
        control.check()?;
        control.end_phase();
        Ok(bounded)
    }

    /// Remove released and abandoned items from every user's set and bound again with the same priorities.
    ///
    /// # Errors
    /// Interruption.
    pub(crate) fn remove(&mut self, removed: &ItemSet, control: &Control) -> Result<()> {
        let tally = control.tally(REMOVING, self.users());
        self.for_each_user(control, tally, |user, order| {
            user.remove(removed);
            order.restore(user);
        });
        control.check()
    }

    /// The kept items of all users, without their reserves: no other item will ever move up.
    pub(crate) fn into_kept_rows(self, control: &Control) -> (KeptRows, Vocabulary) {
        let Contributions { starts, lens, items, vocabulary, .. } = self.contributions;
        (KeptRows::new(&starts, lens, items, self.bound, control), vocabulary)
    }

    /// Number of users.
    pub(crate) fn users(&self) -> usize {
        self.contributions.users.len()
    }

    /// The keys and digests of the items.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.contributions.vocabulary
    }

    /// The keys and digests of the items, when the contributions are no longer needed; and the rest of them, to be freed.
    pub(crate) fn into_vocabulary(self) -> (Vocabulary, Box<dyn Send>) {
        let Contributions { users, starts, lens, items, vocabulary, .. } = self.contributions;
        (vocabulary, Box::new((users, starts, lens, items, self.ordered)))
    }

    /// The digest of each user.
    pub(crate) fn user_digests(&self) -> &[Digest] {
        &self.contributions.users
    }

    /// The most items a user keeps.
    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    /// Number of rows that were grouped.
    pub(crate) fn rows(&self) -> usize {
        self.contributions.items.as_slice().len()
    }

    /// The number of threads that are worth starting.
    pub(crate) fn threads(&self, control: &Control) -> usize {
        parallel::threads_for(self.rows(), control)
    }

    /// Ranges of users with about equal numbers of kept items.
    pub(crate) fn user_ranges(&self, count: usize) -> Vec<Range<usize>> {
        ranges(self.contributions.lens.iter().map(|len| *len.min(&self.bound)), count)
    }

    /// The kept items of a user.
    pub(crate) fn kept_items(&self, user: usize) -> &[u32] {
        let start = self.contributions.starts[user];
        &self.contributions.items.as_slice()
            [start..start + self.contributions.lens[user].min(self.bound) as usize]
    }

    fn for_each_user(
        &mut self,
        control: &Control,
        tally: Tally<'_>,
        job: impl Fn(&mut User<'_>, &mut Order<'_>) + Sync,
    ) {
        let threads = parallel::threads_for(self.rows(), control);
        let ranges = ranges(self.contributions.lens.iter().copied(), parallel::parts_for(threads));
        let c = &mut self.contributions;
        let digests = c.vocabulary.digests();
        let (mut items, mut lens) = (c.items.as_mut_slice(), c.lens.as_mut_slice());
        let (mut ordered, mut first_item) = (self.ordered.as_mut_slice(), 0);
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            // Otherwise: no user starts there, so these are the last ones.
            let end_item = c.starts.get(range.end).copied().unwrap_or(first_item + items.len());
            let (part_items, rest_items) = items.split_at_mut(end_item - first_item);
            let (part_lens, rest_lens) = lens.split_at_mut(range.len());
            let (part_ordered, rest_ordered) = ordered.split_at_mut(range.len());
            let (users, starts) = (&c.users[range.clone()], &c.starts[range]);
            parts.push(Part {
                users,
                starts,
                first_item,
                items: part_items,
                lens: part_lens,
                ordered: part_ordered,
            });
            (items, lens, ordered, first_item) = (rest_items, rest_lens, rest_ordered, end_item);
        }
        let (bound, priorities) = (self.bound as usize, &self.priorities);
        parallel::map(threads, parts, |mut part| {
            let (keyed, spare) = (CodedWords::default(), Vec::new());
            let mut order = Order { bound, priorities, digests: &digests, keyed, spare };
            part.each_user(tally, |user| job(user, &mut order));
        });
    }
}

/// A range of users and their part of the arrays, worked on by one thread.
struct Part<'a> {
    users: &'a [Digest],
    starts: &'a [usize],
    first_item: usize,
    items: &'a mut [u32],
    lens: &'a mut [u32],
    ordered: &'a mut [u32],
}

impl Part<'_> {
    fn each_user(&mut self, tally: Tally<'_>, mut job: impl FnMut(&mut User<'_>)) {
        let counts = self.lens.iter_mut().zip(self.ordered.iter_mut());
        let users = self.users.iter().zip(self.starts).zip(counts);
        for (number, ((&digest, start), (len, ordered))) in (1..).zip(users) {
            let items = &mut self.items[start - self.first_item..][..*len as usize];
            job(&mut User { digest, items, len, ordered });
            if number % TALLIED == 0 {
                tally.add(TALLIED);
            }
        }
    }
}

/// One user.
struct User<'a> {
    digest: Digest,
    /// All items of the user when the visit began.
    items: &'a mut [u32],
    len: &'a mut u32,
    ordered: &'a mut u32,
}

impl User<'_> {
    /// Remove items; the others keep their order.
    fn remove(&mut self, removed: &ItemSet) {
        let ordered = self.items.len().min(*self.ordered as usize);
        let (first, rest) = (0..ordered, ordered..self.items.len());
        *self.ordered = self.move_up(0, first, removed);
        *self.len = self.move_up(*self.ordered, rest, removed);
    }

    /// Move the items of a range that stay to position `to` and behind it; returns the position after them.
    fn move_up(&mut self, mut to: u32, from: Range<usize>, removed: &ItemSet) -> u32 {
        for read in from {
            let item = self.items[read];
            self.items[to as usize] = item;
            to += u32::from(!removed.contains(ItemCode(item)));
        }
        to
    }
}

/// The buffers of one thread that sorts items by priority.
struct Order<'a> {
    bound: usize,
    priorities: &'a Priorities,
    digests: &'a Digests<'a>,
    keyed: CodedWords,
    spare: Vec<u32>,
}

impl Order<'_> {
    /// Make the kept items of the user stand first, in order of priority.
    fn restore(&mut self, user: &mut User<'_>) {
        if *user.len as usize > self.bound && (*user.ordered as usize) < self.bound {
            self.sort(user, self.bound.saturating_mul(AHEAD));
        }
    }

    /// Put the first `first` items of a user by priority, or all if there are fewer, before the others, in this order.
    ///
    /// See [`Priorities::order`].
    fn sort(&mut self, user: &mut User<'_>, first: usize) {
        let items = &mut user.items[..*user.len as usize];
        let digest = |item| self.digests.get(ItemCode(item));
        self.digests.gather(items, &mut self.spare, &mut self.keyed.whole);
        let first = self.priorities.order_digested(user.digest, items, digest, first, &mut self.keyed);
        // Otherwise: none of them counts as ordered, and they are put in order again.
        *user.ordered = u32::try_from(first).unwrap_or(0);
    }
}
