//! The users, divided into the parts of the chunks.

use dpsel_exact::numeric::widths::codes;

use super::identity_codes::{OwnDigests, WithoutItem};
use super::parts::{places, user_at};
use super::records::NoRecord;
use super::shard::Shard;
use super::sharding::Sharding;

/// All users. A user has a place in a part.
#[derive(Debug)]
pub(super) struct Users {
    shards: Vec<Shard<NoRecord>>,
    sharding: Sharding,
    /// Users whose integers are their own codes.
    own: Option<OwnDigests>,
    without_item: WithoutItem,
}

impl Users {
    pub(super) fn new(
        shards: Vec<Shard<NoRecord>>,
        sharding: Sharding,
        own: Option<OwnDigests>,
        without_item: WithoutItem,
    ) -> Self {
        Self { shards, sharding, own, without_item }
    }

    /// The number of all places. Some have no user: shards differ in length, and not all codes that are kept for integers
    /// are used.
    pub(super) fn all_places(&self) -> usize {
        self.sharding.code_bound(self.shards.iter().map(Shard::len))
    }

    /// The number of places of a part.
    pub(super) fn places(&self, part: usize) -> usize {
        places(part, self.all_places())
    }

    /// The number of users of a part. `rows` has the number of rows of each place.
    pub(super) fn count(&self, part: usize, rows: &[u32]) -> usize {
        (0..).zip(rows).filter(|(place, rows)| self.is_user(part, *place, **rows)).count()
    }

    /// The digests of the users of a part, by place; zero for a place without a user. `rows` has the number of rows of each
    /// place.
    pub(super) fn digests(&self, part: usize, rows: &[u32], digests: &mut Vec<u128>) {
        digests.clear();
        if let Some(own) = &self.own {
            // Codes grow with places, so the own ones come first.
            let first = places(part, own.below() as usize).min(rows.len());
            let integers: Vec<u32> = (0..first).map(|place| codes(user_at(part, place))).collect();
            own.append(&integers, digests);
            for (place, (digest, rows)) in digests.iter_mut().zip(rows).enumerate() {
                if !self.is_user(part, place, *rows) {
                    *digest = 0;
                }
            }
        }
        digests.extend((digests.len()..rows.len()).map(|place| {
            // Otherwise: zero for a place without a user, as promised above.
            self.interned(codes(user_at(part, place))).unwrap_or_default()
        }));
    }

    /// Whether there is a user at a place. A place with rows has one.
    fn is_user(&self, part: usize, place: usize, rows: u32) -> bool {
        rows > 0 || {
            let code = codes(user_at(part, place));
            if code < self.below() { self.without_item.has(code) } else { self.interned(code).is_some() }
        }
    }

    /// The digest of an interned user.
    fn interned(&self, code: u32) -> Option<u128> {
        let shard = self.shards[self.sharding.shard_of_code(code)].digests();
        shard.get(self.sharding.local_of_code(code - self.below())).copied()
    }

    /// All codes below this are integers.
    fn below(&self) -> u32 {
        self.own.as_ref().map_or(0, OwnDigests::below)
    }
}
