//! Contributions become pruned: only the data of each user that the rounds need stays.
//!
//! An item that no round can release matters to its users in two ways only. It counts among the k items of the user, on
//! which the user's weights depend. And it has a rank in the user's order of priority. So it is left out, and with it
//! nearly all digests: the rounds then read a few bytes for each row.
//!
//! In a round, a user keeps the item of rank r (counted from 0) if fewer than D0 of the r items before it are still
//! there. Only candidates are ever released, so only they can have been removed. Hence an item that has D0 items before
//! it that are no candidates is never kept. Neither is any later item.

use arrow_array::RecordBatch;
use dpsel_core::bounding::{AHEAD, PlacedItems, Priorities};
use dpsel_exact::Result;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{CodedWords, Digest, ReleaseKey};

use super::bucket::BucketUsers;
use super::candidates::Chances;
use super::pruned_users::PrunedUsers;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketRuns, BucketedValues, ByDigest, UserCounts, bucketed_values, push_dictionary,
};

/// The code of an item that no round can release.
pub(crate) const NO_CODE: u32 = u32::MAX;

/// Prunes users one by one.
#[derive(Debug)]
pub(crate) struct Pruner {
    /// The most items that a user keeps.
    bound: usize,
    priorities: Priorities,
}

impl Pruner {
    pub(crate) fn new(bound: L0Bound, key: &ReleaseKey) -> Self {
        Self { bound: bound.get() as usize, priorities: Priorities::new(key) }
    }

    /// Add a user with the places of all of its items, whose codes are known by place. What stays are the candidates with
    /// fewer than `bound` other items before them.
    pub(crate) fn add(
        &self,
        user: Digest,
        (items, places): (PlacedItems<'_>, &mut [u32]),
        codes_of: &[u32],
        (pruned, keyed): (&mut PrunedUsers, &mut CodedWords),
    ) {
        let (bound, total) = (self.bound, codes(places.len()));
        let code = |place: &u32| codes_of[*place as usize];
        let is_other = |place: &u32| code(place) == NO_CODE;
        if places.iter().all(is_other) {
            return;
        }
        if places.len() <= bound {
            let kept = places.iter().map(code).filter(|code| *code != NO_CODE);
            return pruned.add(total, kept.map(|code| (code, None)));
        }
        for first in [bound.saturating_mul(AHEAD), usize::MAX] {
            let ordered = self.priorities.order_places(user, places, items, first, keyed);
            let others = places[..ordered].iter().filter(|place| is_other(place)).count();
            if others >= bound || ordered >= places.len() {
                break;
            }
        }
        // The rank of the first item of which nothing is ever kept, as of all behind it.
        let others = places.iter().enumerate().filter(|(_, place)| is_other(place));
        let end = others.map(|(rank, _)| rank).nth(bound - 1).unwrap_or(places.len()); // Otherwise: there is none.
        let kept = (0..).zip(&places[..end]).filter(|(_, place)| !is_other(place));
        pruned.add(total, kept.map(|(rank, place)| (code(place), Some(rank))));
    }
}

/// The stage that prunes users. In a value candidates go by their places in its dictionary.
///
/// # Contract
/// All rows of a bucket come one after the other in one task. So each user is pruned with all of its items.
#[derive(Debug)]
pub struct Prune {
    pruner: Pruner,
    pruned: PrunedUsers,
    chances: Chances,
    users: UserCounts,
    /// The items of the next value, and the most users of each.
    dictionary: Vec<(Digest, u32)>,
    places: ByDigest<u32>,
    /// The code of each place in a bucket.
    known: Vec<u32>,
    bucket: BucketUsers,
    runs: BucketRuns,
    /// Rows of users since the last value, and how many of them make a value. The more rows, the more users of an item
    /// meet before anything moves.
    rows: usize,
    most: usize,
}

impl Prune {
    pub(crate) fn new(
        bound: L0Bound,
        key: &ReleaseKey,
        (chances, users): (Chances, UserCounts),
        most: usize,
    ) -> Self {
        Self {
            pruner: Pruner::new(bound, key),
            pruned: PrunedUsers::default(),
            chances,
            users,
            dictionary: Vec::new(),
            places: ByDigest::default(),
            known: Vec::new(),
            bucket: BucketUsers::new(key),
            runs: BucketRuns::default(),
            rows: 0,
            most,
        }
    }

    /// Prune the users of the bucket that has ended.
    fn end_bucket(&mut self) -> Result<()> {
        self.rows += self.bucket.rows();
        self.look_up();
        let Self { pruner, pruned, known, bucket, .. } = self;
        bucket.each_user(|items, user, places, keyed| {
            pruner.add(user, (items, places), known, (pruned, keyed));
            Ok(())
        })?;
        bucket.clear();
        Ok(())
    }

    /// Find the codes of the items of the bucket.
    fn look_up(&mut self) {
        let Self { chances, users, places, dictionary, known, bucket, .. } = self;
        let most_users = chances.most_users(&bucket.items, users);
        known.clear();
        known.extend(bucket.items.iter().zip(most_users).map(|(item, users)| {
            let place = |users| {
                *places.entry(*item).or_insert_with(|| {
                    dictionary.push((*item, users));
                    codes(dictionary.len() - 1)
                })
            };
            users.map_or(NO_CODE, place)
        }));
    }

    /// Hand out all users so far. The value goes under the last of their buckets: where it is makes no difference to
    /// the rounds.
    fn hand_out(&mut self, last: i32, made: &mut BucketedValues) {
        self.rows = 0;
        self.places.clear();
        let dictionary = std::mem::take(&mut self.dictionary);
        if self.pruned.rows() > 0 {
            let mut packed = Vec::new();
            push_dictionary(&dictionary, &mut packed);
            self.pruned.take(&mut packed);
            made.push(last, packed);
        }
    }
}

impl Stage for Prune {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, packed) in bucketed_values(&batch)? {
            if let Some(last) = self.runs.ended_by(bucket)? {
                self.end_bucket()?;
                if self.rows >= self.most {
                    self.hand_out(last, &mut made);
                }
            }
            self.bucket.push(packed)?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        if let Some(last) = self.runs.current() {
            self.end_bucket()?;
            self.hand_out(last, &mut made);
        }
        made.into_batches()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any item may come to be the first that is left, where all are candidates.
    #[test]
    fn a_long_reserve_is_in_order() {
        let (key, user, mut keyed) = (ReleaseKey::insecure_test([3; 32]), Digest(5), CodedWords::default());
        let items: Vec<Digest> = (0..3000).map(Digest).collect();
        let all: Vec<u32> = (0..3000).collect();
        let mut expected = all.clone();
        let digest = |place| items[place as usize];
        Priorities::new(&key).order(user, &mut expected, digest, usize::MAX, &mut keyed);
        let (mut places, mut left) = (all.clone(), PrunedUsers::default());
        let pruner = Pruner::new(L0Bound::new(1).unwrap(), &key);
        let items = PlacedItems { digests: &items, lineage: None };
        pruner.add(user, (items, &mut places), &all, (&mut left, &mut keyed));
        assert_eq!((places, left.rows()), (expected, 3000));
    }
}
