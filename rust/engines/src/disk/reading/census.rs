//! How many users an item has at most, by item hash.
//!
//! Each time that an item of a user is met, its hash goes to the bucket of its leading bits. A small table keeps the
//! hashes that come often, so that they are written seldom. When no row comes any more, the hashes of a bucket are
//! sorted and counted.
//!
//! A value has the number of hashes that count once, as `u32`; these hashes; then pairs of a hash and its users.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Contributions;
use dpsel_rows::scratch::{Stored, Writer};
use zerocopy::{FromBytes, IntoBytes};

use crate::disk::threads::{ByBucket, Stages};
use crate::exchange::{Buckets, item_hash};

type NativeU32 = zerocopy::native_endian::U32;

const DAMAGED: Error = Error::Internal("counts of users in scratch are damaged");

/// Places for hashes that come often.
const OFTEN: usize = 1 << 12;

/// Counts users on one thread.
pub(super) struct Census<'a> {
    writer: Writer<'a>,
    buckets: Buckets,
    /// Each hash with its users so far; the users are zero at a free place.
    often: Box<[(u32, u32)]>,
    once: Vec<u32>,
    several: Vec<(u32, u32)>,
    /// The hashes that count once, in order of buckets.
    in_order: ByBucket<NativeU32>,
    packed: Vec<u8>,
}

impl<'a> Census<'a> {
    pub(super) fn new(writer: Writer<'a>, buckets: Buckets) -> Self {
        Self {
            writer,
            buckets,
            often: vec![(0, 0); OFTEN].into(),
            once: Vec::new(),
            several: Vec::new(),
            in_order: ByBucket::default(),
            packed: Vec::new(),
        }
    }

    /// Count the users of all items of a table.
    pub(super) fn count_table(&mut self, contributions: &Contributions) -> Result<()> {
        let vocabulary = &contributions.vocabulary;
        let digests = vocabulary.digests_from(0..vocabulary.code_bound());
        for (item, users) in digests.into_iter().zip(contributions.users_of_items()) {
            match users {
                0 => {}
                1 => self.once.push(item_hash(item)),
                _ => self.several.push((item_hash(item), users)),
            }
        }
        self.write()
    }

    /// Count a user for each of these items.
    pub(super) fn count_rows(&mut self, items: &[Digest]) -> Result<()> {
        for item in items {
            let hash = item_hash(*item);
            let place = &mut self.often[index((hash >> (u32::BITS - OFTEN.ilog2())).into())];
            if place.0 == hash && place.1 > 0 {
                place.1 = place.1.saturating_add(1);
                continue;
            }
            match std::mem::replace(place, (hash, 1)) {
                (_, 0) => {}
                (before, 1) => self.once.push(before),
                several => self.several.push(several),
            }
        }
        self.write()
    }

    /// Write what was counted, but for the hashes that come often.
    fn write(&mut self) -> Result<()> {
        self.several.sort_unstable();
        let once = self.once.iter().map(|hash| (self.buckets.of_bits(*hash), NativeU32::from(*hash)));
        self.in_order.fill(self.buckets, once);
        let mut several = self.several.as_slice();
        for (bucket, once) in self.in_order.each() {
            let of_bucket = |(hash, _): &(u32, u32)| self.buckets.of_bits(*hash) <= bucket;
            let (own, others) = several.split_at(several.partition_point(of_bucket));
            several = others;
            if once.is_empty() && own.is_empty() {
                continue;
            }
            self.packed.clear();
            self.packed.extend(codes(once.len()).to_ne_bytes());
            self.packed.extend_from_slice(once.as_bytes());
            for (hash, users) in own {
                self.packed.extend(hash.to_ne_bytes());
                self.packed.extend(users.to_ne_bytes());
            }
            self.writer.push(bucket, &self.packed)?;
        }
        self.once.clear();
        self.several.clear();
        Ok(())
    }

    /// Write all that is left.
    pub(super) fn end(mut self) -> Result<()> {
        self.several.extend(self.often.iter().filter(|(_, users)| *users > 0));
        self.write()?;
        self.writer.flush()
    }
}

/// The hashes with more than `above` users, and how many they have at most; their number if there are more than `most`.
///
/// # Errors
/// Those of scratch; an interruption.
pub(in crate::disk) fn frequent(
    counts: &Stored,
    (above, most): (u32, usize),
    stages: Stages<'_>,
) -> Result<std::result::Result<Vec<(u32, u32)>, usize>> {
    let (found, number) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    stages.each_bucket(
        counts,
        || (HashCounts::default(), Vec::new()),
        |(bucket, own), _, values| {
            bucket.once.clear();
            bucket.several.clear();
            counts.each(values, |value| {
                stages.control.check()?;
                bucket.push(value)
            })?;
            let is_room = number.load(Ordering::Relaxed) <= most;
            if !is_room {
                *own = Vec::new();
            }
            let mut more = 0;
            bucket.count(|hash, users| {
                if users > above {
                    more += 1;
                    own.extend(is_room.then_some((hash, users)));
                }
            });
            number.fetch_add(more, Ordering::Relaxed);
            Ok(())
        },
        |(_, own)| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.is_empty() {
                *found = own;
            } else {
                found.extend(own);
            }
            Ok(())
        },
    )?;
    let number = number.into_inner();
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(if number <= most { Ok(found) } else { Err(number) })
}

/// What was counted in one bucket of hashes.
#[derive(Debug, Default)]
struct HashCounts {
    once: Vec<u32>,
    several: Vec<(u32, u32)>,
}

impl HashCounts {
    /// Add a value.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    fn push(&mut self, value: &[u8]) -> Result<()> {
        let (once, rest) = NativeU32::ref_from_prefix(value).map_err(|_| DAMAGED)?;
        let (once, rest) =
            <[NativeU32]>::ref_from_prefix_with_elems(rest, index(once.get().into())).map_err(|_| DAMAGED)?;
        let several = <[[NativeU32; 2]]>::ref_from_bytes(rest).map_err(|_| DAMAGED)?;
        self.once.extend(once.iter().map(|hash| hash.get()));
        self.several.extend(several.iter().map(|[hash, users]| (hash.get(), users.get())));
        Ok(())
    }

    /// Hand out each hash with its users.
    fn count(&mut self, mut each: impl FnMut(u32, u32)) {
        self.once.sort_unstable();
        self.several.sort_unstable();
        let sum =
            |alike: &[(u32, u32)]| alike.iter().fold(0, |sum: u32, (_, users)| sum.saturating_add(*users));
        let mut several = self.several.chunk_by(|a, b| a.0 == b.0).peekable();
        for once in self.once.chunk_by(|a, b| a == b) {
            while let Some(alike) = several.next_if(|alike| alike[0].0 < once[0]) {
                each(alike[0].0, sum(alike));
            }
            let others = several.next_if(|alike| alike[0].0 == once[0]).map_or(0, sum);
            each(once[0], others.saturating_add(codes(once.len())));
        }
        several.for_each(|alike| each(alike[0].0, sum(alike)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dpsel_rows::runtime::Control;
    use dpsel_rows::scratch::{Scratch, ScratchSpace, Spool};

    use super::*;
    use crate::disk::threads::{LEAST, Memory};

    /// Several threads count; hashes come once, seldom and often.
    #[test]
    fn every_user_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(ScratchSpace { folder: folder.path().into(), limit: None }).unwrap();
        let control = Control::new(std::num::NonZeroUsize::new(2), None);
        let stages = Stages { memory: Memory::new(LEAST, &control), control: &control };
        let spool = Spool::new(&scratch).unwrap();
        let mut expected = BTreeMap::<u32, u32>::new();
        for thread in 0..3_u32 {
            let mut census = Census::new(spool.writer(1000), Buckets::new(7).unwrap());
            for part in 0..5_u32 {
                let hashes = (0..3000_u32).map(|n| {
                    let n = if n % 3 == 0 { n % 7 } else { n * 31 + part + thread * 1_000_000 };
                    n.wrapping_mul(0x9e37_79b9)
                });
                let hashes: Vec<u32> = hashes.collect();
                for hash in &hashes {
                    *expected.entry(*hash).or_default() += 1;
                }
                let items: Vec<Digest> =
                    hashes.iter().map(|hash| Digest(u128::from(*hash) << 96 | 5)).collect();
                census.count_rows(&items).unwrap();
            }
            census.end().unwrap();
        }
        let stored = spool.stored();
        for above in [0, 1, 4, 1000] {
            let mut found = frequent(&stored, (above, usize::MAX), stages).unwrap().unwrap();
            let number = found.len();
            assert!(frequent(&stored, (above, number), stages).unwrap().is_ok());
            for most in [0, number / 2, number.saturating_sub(1)].into_iter().filter(|most| *most < number) {
                assert_eq!(frequent(&stored, (above, most), stages).unwrap(), Err(number));
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(expected.clone().into_iter().filter(|(_, users)| *users > above)));
        }
        assert!(expected.values().any(|users| *users == 1) && expected.values().any(|users| *users > 1000));
    }

    #[test]
    fn users_that_count_once_are_added_to_those_that_count_together() {
        let (mut counts, mut found) = (HashCounts::default(), Vec::new());
        let value: Vec<u8> = [2_u32, 7, 8, 7, 3].into_iter().flat_map(u32::to_ne_bytes).collect();
        counts.push(&value).unwrap();
        counts.push(&value).unwrap();
        counts.count(|hash, users| found.push((hash, users)));
        assert_eq!(found, [(7, 8), (8, 2)]);
    }

    #[test]
    fn half_of_a_value_is_an_error() {
        let value: Vec<u8> = [2_u32, 7, 8, 9, 3].into_iter().flat_map(u32::to_ne_bytes).collect();
        for len in 0..value.len() {
            let alone = HashCounts::default().push(&value[..len]);
            assert_eq!(alone.is_ok(), len == 12);
        }
        assert!(HashCounts::default().push(&value).is_ok());
    }
}
