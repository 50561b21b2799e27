//! Packed contributions become settled ones: what the rounds need to know of a user, and no more.
//!
//! The items of a user that no round can release matter to its weights only by their number and by their places in the
//! order of priority. So they are left out, and with them nearly all digests: rounds then read a few bytes for each row.
//! The n-th item of a user, counted from 0, is kept in a round if fewer than D0 of those before it are still there.
//! Of the items before it only those written here can have gone; so an item with D0 others before it is never kept, nor is
//! any item behind it.
//!
//! Layout of a packed value, all little-endian: `items: u32`, `users: u32`, the digests, for each item the most users that it
//! can have (0 if that is not known); for each user the number of its items, of those that are written, and for each of
//! these its place in the dictionary and, if the user has more than D0 items, how many stand between it and the one
//! before. What comes after the digests are variable-length integers.

use arrow_array::RecordBatch;

use super::Stage;
use super::census::Candidates;
use super::gather::Gather;
use super::packing::{CORRUPT, push_integer, take_digest, take_integer, take_u32};
use super::plan::{Plan, control};
use super::routing::{Routed, unrouted};
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::contributions::{Contributions, Vocabulary};
use crate::numeric::widths::codes;
use crate::random::Digest;

/// About the bytes of an item in the dictionary.
const DICTIONARY_BYTES: usize = size_of::<u128>() + 2;

/// See the module.
#[derive(Debug)]
pub struct Settle {
    plan: Plan,
    candidates: Option<Candidates>,
    gathered: Gather,
}

impl Settle {
    pub(super) fn new(plan: Plan, candidates: Option<Candidates>) -> Self {
        let gathered = Gather::new(&plan);
        Self { plan, candidates, gathered }
    }

    /// Settle all there is of some routes. The last of them stands for all.
    fn settle(&self, (route, contributions): (i32, Contributions)) -> Result<Vec<RecordBatch>> {
        let (control, bound) = (control(), self.plan.bound()?);
        let mut bounded = BoundedContributions::new(contributions, bound, self.plan.key(), &control)?;
        bounded.order_all(&control)?;
        let mut settled = Writer::new(&bounded, self.candidates.as_ref());
        (0..bounded.users()).for_each(|user| settled.add_user(bounded.all_items(user)));
        let mut made = Routed::default();
        made.push(route, settled.finish());
        made.into_batches()
    }
}

impl Stage for Settle {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        for (route, packed) in unrouted(&batch)? {
            if let Some(gathered) = self.gathered.push(route, packed)? {
                ready.extend(self.settle(gathered)?);
            }
        }
        Ok(ready)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.gathered.finish()?.map_or(Ok(Vec::new()), |gathered| self.settle(gathered))
    }
}

/// Writes settled users.
struct Writer {
    /// The most items that a user keeps.
    bound: usize,
    /// The place in the dictionary of each code; `NOWHERE` for items that no round can release.
    places: Vec<u32>,
    dictionary: Vec<(Digest, u32)>,
    users: u32,
    body: Vec<u8>,
}

/// The place of an item that is not in the dictionary.
const NOWHERE: u32 = u32::MAX;

impl Writer {
    fn new(bounded: &BoundedContributions, candidates: Option<&Candidates>) -> Self {
        let (places, dictionary) = dictionary(bounded.vocabulary(), candidates);
        Self { bound: bounded.bound() as usize, places, dictionary, users: 0, body: Vec::new() }
    }

    /// All items of a user; those of a user of many in order of priority.
    fn add_user(&mut self, items: &[u32]) {
        let written = items.iter().enumerate().filter(|(_, item)| self.places[**item as usize] != NOWHERE);
        // Before the n-th of them all others have come that may go before it does.
        let written = written.enumerate().take_while(|(n, (rank, _))| rank - n < self.bound);
        let written: Vec<(usize, u32)> =
            written.map(|(_, (rank, item))| (rank, self.places[*item as usize])).collect();
        if written.is_empty() {
            return;
        }
        self.users += 1;
        push_integer(items.len() as u64, &mut self.body);
        push_integer(written.len() as u64, &mut self.body);
        let mut next = 0;
        for (rank, place) in written {
            push_integer(place.into(), &mut self.body);
            if items.len() > self.bound {
                push_integer((rank - next) as u64, &mut self.body);
                next = rank + 1;
            }
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(8 + self.dictionary.len() * DICTIONARY_BYTES + self.body.len());
        packed.extend(codes(self.dictionary.len()).to_le_bytes());
        packed.extend(self.users.to_le_bytes());
        self.dictionary.iter().for_each(|(item, _)| packed.extend(item.0.to_le_bytes()));
        self.dictionary.iter().for_each(|(_, users)| push_integer((*users).into(), &mut packed));
        packed.extend(self.body);
        packed
    }
}

/// The items that some round can release, all of them if nothing is known of that, with the most users that they can have;
/// and the place of each code among them.
fn dictionary(vocabulary: &Vocabulary, candidates: Option<&Candidates>) -> (Vec<u32>, Vec<(Digest, u32)>) {
    let digests = vocabulary.digests_from(0..vocabulary.code_bound());
    let most_users =
        candidates.map_or_else(|| vec![Some(0); digests.len()], |candidates| candidates.most_users(&digests));
    let (mut places, mut dictionary) = (vec![NOWHERE; digests.len()], Vec::new());
    for ((place, item), users) in places.iter_mut().zip(digests).zip(most_users) {
        if let Some(users) = users {
            *place = codes(dictionary.len());
            dictionary.push((item, users));
        }
    }
    (places, dictionary)
}

/// What was written of the users of some routes.
#[derive(Debug)]
pub(super) struct Settled<'a> {
    /// The items, with the most users that they can have (0 if that is not known).
    pub(super) dictionary: Vec<(Digest, u32)>,
    users: u32,
    body: &'a [u8],
}

/// An item of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Its place in the dictionary.
    pub(super) place: usize,
    /// How many items of the user come before it in order of priority; any order if the user has few.
    pub(super) rank: u64,
}

impl<'a> Settled<'a> {
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if it is damaged.
    pub(super) fn unpack(packed: &'a [u8]) -> Result<Self> {
        let mut body = packed;
        let (items, users) = (take_u32(&mut body)?, take_u32(&mut body)?);
        let digests = (0..items).map(|_| take_digest(&mut body)).collect::<Result<Vec<_>>>()?;
        let with_users = digests.into_iter().map(|item| {
            let users = take_integer(&mut body)?;
            Ok((item, u32::try_from(users).map_err(|_| CORRUPT)?))
        });
        Ok(Self { dictionary: with_users.collect::<Result<_>>()?, users, body })
    }

    /// The number of items of each user, and those of them that are written.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if it is damaged.
    pub(super) fn each_user(&self, bound: u32, mut each: impl FnMut(u64, &[Written])) -> Result<()> {
        let (mut rest, mut items) = (self.body, Vec::new());
        for _ in 0..self.users {
            let (total, written) = (take_integer(&mut rest)?, take_integer(&mut rest)?);
            items.clear();
            let mut next = 0_u64;
            for _ in 0..written {
                let place = usize::try_from(take_integer(&mut rest)?).map_err(|_| CORRUPT)?;
                let between = if total > bound.into() { take_integer(&mut rest)? } else { 0 };
                let rank = next.checked_add(between).filter(|rank| *rank < total).ok_or(CORRUPT)?;
                if place >= self.dictionary.len() {
                    return Err(CORRUPT);
                }
                items.push(Written { place, rank });
                next = rank + 1;
            }
            each(total, &items);
        }
        if rest.is_empty() { Ok(()) } else { Err(CORRUPT) }
    }
}
