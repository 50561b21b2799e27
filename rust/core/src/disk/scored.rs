//! Scored rounds on the disk: each reads its users once. What is known of an item that one user alone holds is beside
//! that user. Of shared items a few bytes are in memory, and the rest is read once a round, by code.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use zerocopy::IntoBytes;

use super::numbering::{Hashes, Numbered};
use super::rounds::Rounds;
use crate::exchange::{Bounded, Item, MOST_SHARED, Packed, Partition, SharedItems, Users, read};
use crate::random::{Digest, Purpose, Words};
use crate::rounds::Decider;
use crate::scratch::{Spool, Stored};
use crate::weighting::Budgets;
use crate::{Error, Result};

/// Rows of a block, about. A thread holds one block at a time.
const BLOCK_ROWS: usize = 1 << 14;
/// Shared items that stand together on the disk.
const TOGETHER: usize = 1 << 13;

/// Puts users into blocks: bounded, with the items that they keep.
struct Blocks<'a> {
    bounded: Bounded,
    hashes: &'a Hashes,
    numbered: &'a RwLock<Numbered>,
}

/// The buffers of one thread that puts users into blocks.
struct Buffers {
    partition: Partition,
    codes: Vec<Option<u32>>,
    users: Users,
    packed: Vec<u8>,
    keyed: Vec<u128>,
}

impl Blocks<'_> {
    /// The code of each item; none for items that one user at most holds.
    fn codes_of(&self, items: &[Digest], found: &mut Vec<Option<u32>>) -> Result<()> {
        found.clear();
        found.extend(items.iter().map(|item| self.hashes.code(*item)));
        let mut new = Vec::new();
        let numbered = self.numbered.read().unwrap_or_else(PoisonError::into_inner);
        for (at, (code, item)) in found.iter_mut().zip(items).enumerate() {
            let Some(of_hash) = *code else { continue };
            match numbered.known(of_hash, *item) {
                Some(known) => *code = Some(known),
                None => new.push((at, of_hash)),
            }
        }
        drop(numbered);
        let mut numbered = self.numbered.write().unwrap_or_else(PoisonError::into_inner);
        for (at, of_hash) in new {
            found[at] = Some(numbered.code(of_hash, items[at])?);
        }
        Ok(())
    }

    /// Write the blocks of all users of the partition.
    fn fill(&self, buffers: &mut Buffers, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Buffers { partition, codes, users, packed, keyed } = buffers;
        self.codes_of(&partition.items, codes)?;
        partition.each_user(|items, user, places| {
            let item = |place: &u32| codes[*place as usize].ok_or(items[*place as usize]);
            self.bounded.add((items, user, places), item, (&mut *users, &mut *keyed));
            if users.rows() >= BLOCK_ROWS {
                users.pack(packed);
                users.clear();
                write(packed)?;
            }
            Ok(())
        })?;
        users.pack(packed);
        users.clear();
        write(packed)
    }
}

impl Rounds<'_> {
    /// The decisions of the last round, given the hashes of all items with more than one user.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn scored_in_blocks(&self, contributions: Arc<Stored<i32>>, hashes: Hashes) -> Result<Packed> {
        let (stages, spec) = (self.stages, self.job.spec());
        let Some((rounds, publish)) = spec.calibration.scoring() else {
            return Err(Error::Internal("the rounds do not score"));
        };
        let budgets = publish.budgets();
        let (mut blocks, mut items, shared) = self.in_blocks(&contributions, budgets.clone(), hashes)?;
        drop(contributions);
        stages.control.end_phase();
        let released = Mutex::default();
        for (number, scoring) in (0_u32..).zip(rounds) {
            let decider = Decider::new(&spec.calibration, number, spec.with_weights)?;
            let round = (decider, Words::new(self.job.key(), Purpose::Noise, number));
            let in_round = budgets.in_round(scoring.share);
            blocks = self.rewritten(
                &blocks,
                &released,
                |(users, packed), _, value, released| {
                    let users: &mut Users = users;
                    users.unpack(value)?;
                    users.run(&in_round, &shared, &round, released)?;
                    users.pack(packed);
                    // A block without users has nothing to say in later rounds.
                    Ok(users.rows() > 0)
                },
                |(users, _)| users.end(&shared),
            )?;
            items = self.rewritten(
                &items,
                &released,
                |(items, packed): &mut (Vec<Item>, _), first, value, released| {
                    let mut rest = value;
                    read(&mut rest, value.len() / size_of::<Item>(), items)?;
                    shared.decide(first as usize * TOGETHER, items, &round, released)?;
                    write_items(items, packed);
                    Ok(true)
                },
                |_| {},
            )?;
            stages.control.end_phase();
        }
        let released: Vec<u8> = released.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.held_bytes(released)
    }

    /// Work on every value, and write what it becomes. The work fills a buffer and says whether that is to be kept.
    /// `end` takes what a thread worked with.
    fn rewritten<T: Default>(
        &self,
        stored: &Stored<i32>,
        released: &Mutex<Vec<u8>>,
        work: impl Fn(&mut (T, Vec<u8>), u32, &[u8], &mut Vec<u8>) -> Result<bool> + Sync,
        end: impl Fn(&mut (T, Vec<u8>)) + Sync,
    ) -> Result<Stored<i32>> {
        let next = Spool::new(self.scratch)?;
        self.stages.each_value(
            stored,
            || (self.stages.writer(&next), <(T, Vec<u8>)>::default(), Vec::new()),
            |(writer, own, released), route: i32, value| {
                if work(own, route.unsigned_abs(), value, released)? {
                    writer.push(route, &own.1)?;
                }
                Ok(())
            },
            |(mut writer, mut worked, own)| {
                end(&mut worked);
                released.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
                writer.flush()
            },
        )?;
        Ok(next.stored())
    }

    /// The users in blocks, the shared items by code, and what is in memory of these.
    fn in_blocks(
        &self,
        contributions: &Stored<i32>,
        budgets: Budgets,
        hashes: Hashes,
    ) -> Result<(Stored<i32>, Stored<i32>, SharedItems)> {
        let (stages, key) = (self.stages, self.job.key());
        let numbered = RwLock::new(Numbered::new(&hashes, MOST_SHARED));
        let bound = self.job.spec().bound.ok_or(Error::Internal("rounds without a bound"))?;
        let bounded = Bounded::new(bound, key, budgets);
        let blocks = Blocks { bounded, hashes: &hashes, numbered: &numbered };
        let written = Spool::<i32>::new(self.scratch)?;
        let buffers = || Buffers {
            partition: Partition::new(key),
            codes: Vec::new(),
            users: Users::default(),
            packed: Vec::new(),
            keyed: Vec::new(),
        };
        stages.each_partition(
            contributions,
            || (buffers(), stages.writer(&written)),
            |(buffers, writer), number, values| {
                buffers.partition.read(contributions, values, stages.control)?;
                blocks.fill(buffers, |packed| writer.push(number, packed))
            },
            |(_, mut writer)| writer.flush(),
        )?;
        drop(hashes);
        let digests = numbered.into_inner().unwrap_or_else(PoisonError::into_inner).items();
        Ok((written.stored(), self.items_before_rounds(&digests)?, SharedItems::new(digests.len())))
    }

    /// These items before the first round, many together.
    fn items_before_rounds(&self, digests: &[Digest]) -> Result<Stored<i32>> {
        let items = Spool::<i32>::new(self.scratch)?;
        let (mut writer, mut packed) = (self.stages.writer(&items), Vec::new());
        for (number, digests) in (0..).zip(digests.chunks(TOGETHER)) {
            write_items(&digests.iter().copied().map(Item::new).collect::<Vec<_>>(), &mut packed);
            writer.push(number, &packed)?;
        }
        writer.flush()?;
        Ok(items.stored())
    }
}

fn write_items(items: &[Item], packed: &mut Vec<u8>) {
    packed.clear();
    packed.extend_from_slice(items.as_bytes());
}
