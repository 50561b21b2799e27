//! Bounding: each user keeps at most D0 items, those with the smallest PRF(key, "bound", user, item), or the first ones
//! where its items stand in an order of preference.

use std::ops::Range;

use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::random::{CodedWords, Digest, ReleaseKey};
use dpsel_rows::contributions::{Contributions, Digests, ItemCode, Lineage, Piece, Start, Vocabulary};
use dpsel_rows::runtime::{Control, REMOVING, Tally, parallel};

use super::item_set::ItemSet;
use super::kept_piece::KeptPiece;
use super::priorities::{AHEAD, Priorities};

/// Parts for each part of other stages: users of many items take longer than others, and in the end all threads wait for the
/// one with the last part.
const PARTS: usize = 4;

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
    pub(crate) fn into_kept_pieces(self) -> (Vec<KeptPiece>, Vocabulary) {
        let Contributions { starts, lens, pieces, vocabulary, .. } = self.contributions;
        let kept = pieces.into_iter().map(|piece| KeptPiece::new(piece, &starts, &lens, self.bound));
        (kept.collect(), vocabulary)
    }

    /// All items of all users, to be bounded at another number.
    #[must_use]
    pub(crate) fn into_contributions(self) -> Contributions {
        self.contributions
    }

    /// Number of users.
    #[must_use]
    pub(crate) fn users(&self) -> usize {
        self.contributions.users.len()
    }

    /// The keys and digests of the items.
    #[must_use]
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.contributions.vocabulary
    }

    /// The keys and digests of the items, when the contributions are no longer needed; and the rest of them, to be freed.
    pub(crate) fn into_vocabulary(self) -> (Vocabulary, Box<dyn Send>) {
        let Contributions { users, starts, lens, pieces, vocabulary, .. } = self.contributions;
        (vocabulary, Box::new((users, starts, lens, pieces, self.ordered)))
    }

    /// The digest of each user.
    pub(crate) fn user_digests(&self) -> &[Digest] {
        &self.contributions.users
    }

    /// The most items a user keeps.
    #[must_use]
    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    /// Number of rows that were grouped.
    #[must_use]
    pub(crate) fn rows(&self) -> usize {
        self.contributions.rows
    }

    /// The number of threads that are worth starting.
    #[must_use]
    pub(crate) fn threads(&self, control: &Control) -> usize {
        parallel::threads_for(self.rows(), control)
    }

    /// Ranges of users with about equal numbers of kept items.
    pub(crate) fn user_ranges(&self, count: usize) -> Vec<Range<usize>> {
        ranges(self.contributions.lens.iter().map(|len| *len.min(&self.bound)), count)
    }

    /// The kept items of all users, to be read again and again.
    #[must_use]
    pub(crate) fn kept(&self) -> KeptItems<'_> {
        let Contributions { starts, lens, pieces, .. } = &self.contributions;
        let pieces = pieces.iter().map(|piece| piece.items.as_slice()).collect();
        KeptItems { pieces, starts, lens, bound: self.bound }
    }

    /// The kept items of a user.
    #[must_use]
    pub(crate) fn kept_items(&self, user: usize) -> &[u32] {
        let items = self.contributions.items_of(user);
        &items[..items.len().min(self.bound as usize)]
    }

    fn for_each_user(
        &mut self,
        control: &Control,
        tally: Tally<'_>,
        job: impl Fn(&mut User<'_>, &mut Order<'_>) + Sync,
    ) {
        let threads = parallel::threads_for(self.rows(), control);
        let Contributions { users, starts, lens, pieces, vocabulary, .. } = &mut self.contributions;
        let (digests, lineage) = (vocabulary.digests(), vocabulary.keys().lineage());
        let mut ordered = self.ordered.as_mut_slice();
        let sizes = pieces.iter().map(|piece| clipped(piece.len));
        let ranges = ranges(sizes, parallel::parts_for(threads) * PARTS);
        let (mut lens, mut pieces) = (lens.as_mut_slice(), pieces.as_mut_slice());
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            let (part_pieces, rest_pieces) = std::mem::take(&mut pieces).split_at_mut(range.len());
            pieces = rest_pieces;
            // Otherwise: the part has no pieces, and no users.
            let (Some(first), Some(last)) = (part_pieces.first(), part_pieces.last()) else { continue };
            let of_part = first.users.start..last.users.end;
            let (part_lens, rest_lens) = lens.split_at_mut(of_part.len());
            let (part_ordered, rest_ordered) = ordered.split_at_mut(of_part.len());
            let (users, starts) = (&users[of_part.clone()], &starts[of_part.clone()]);
            parts.push(BoundedPart {
                users,
                starts,
                pieces: part_pieces,
                lens: part_lens,
                ordered: part_ordered,
            });
            (lens, ordered) = (rest_lens, rest_ordered);
        }
        let (bound, priorities) = (self.bound as usize, &self.priorities);
        parallel::map(threads, parts, |mut part| {
            let (keyed, spare) = (CodedWords::default(), Vec::new());
            let mut order = Order { bound, priorities, digests: &digests, lineage, keyed, spare };
            part.each_user(tally, |user| job(user, &mut order));
        });
    }
}

/// The kept items of all users. The memory of each piece is looked up once, not for each user.
#[derive(Debug)]
pub struct KeptItems<'a> {
    pieces: Vec<&'a [u32]>,
    starts: &'a [Start],
    lens: &'a [u32],
    bound: u32,
}

impl KeptItems<'_> {
    /// Those of a user.
    #[inline]
    pub(crate) fn items_of(&self, user: usize) -> &[u32] {
        let Start { piece, at } = self.starts[user];
        &self.pieces[piece as usize][at as usize..][..self.lens[user].min(self.bound) as usize]
    }
}

/// The users of some pieces and their part of the arrays, worked on by one thread.
struct BoundedPart<'a> {
    users: &'a [Digest],
    starts: &'a [Start],
    pieces: &'a mut [Piece],
    lens: &'a mut [u32],
    ordered: &'a mut [u32],
}

impl BoundedPart<'_> {
    fn each_user(&mut self, tally: Tally<'_>, mut job: impl FnMut(&mut User<'_>)) {
        let counts = self.lens.iter_mut().zip(self.ordered.iter_mut());
        let mut users = self.users.iter().zip(self.starts).zip(counts);
        for Piece { users: of_piece, items, .. } in &mut *self.pieces {
            let items = items.as_mut_slice();
            for ((&digest, start), (len, ordered)) in users.by_ref().take(of_piece.len()) {
                let items = &mut items[start.at as usize..][..*len as usize];
                job(&mut User { digest, items, len, ordered });
            }
            tally.add(of_piece.len());
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
    lineage: Option<&'a Lineage>,
    keyed: CodedWords,
    spare: Vec<u32>,
}

impl Order<'_> {
    /// Make the kept items of the user stand first, in order of priority.
    fn restore(&mut self, user: &mut User<'_>) {
        if *user.len as usize > self.bound && (*user.ordered as usize) < self.bound {
            match self.lineage {
                Some(lineage) => self.close(user, lineage),
                None => self.sort(user, self.bound.saturating_mul(AHEAD)),
            }
        }
    }

    /// Put the items of a user in an order of priority in which each stands behind those above it.
    fn close(&mut self, user: &mut User<'_>, lineage: &Lineage) {
        let items = &mut user.items[..*user.len as usize];
        let digest = |item| self.digests.get(ItemCode(item));
        self.priorities.order_closed(user.digest, items, digest, lineage, &mut self.keyed);
        *user.ordered = *user.len;
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

/// `count` consecutive ranges of positions of about equal total size.
fn ranges(sizes: impl ExactSizeIterator<Item = u32> + Clone, count: usize) -> Vec<Range<usize>> {
    let mut first = 0;
    let ends = parallel::balanced_ends(sizes, count).into_iter();
    ends.map(|end| std::mem::replace(&mut first, end)..end).collect()
}
