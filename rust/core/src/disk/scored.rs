//! Scored rounds on the disk: each reads its users once. What is known of an item that one user alone holds is beside
//! that user. Of shared items a few bytes are in memory, and the rest is read once a round, by code.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::numbering::{Hashes, Numbered};
use super::rewritten::Rewritten;
use super::rounds::Rounds;
use crate::exchange::{Bounded, CodedItems, MOST_SHARED, Packed, Partition, SharedItems, Users};
use crate::numeric::widths::codes;
use crate::random::{Digest, Purpose, Words};
use crate::rounds::Decider;
use crate::runtime::memory::Growing;
use crate::scratch::Stored;
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
    written: &'a Rewritten<Users>,
}

/// The buffers of one thread that puts users into blocks.
struct Buffers {
    partition: Partition,
    codes: Vec<Option<u32>>,
    users: Users,
    packed: Vec<u8>,
}

impl Blocks<'_> {
    /// The code of each item; none for items that one user at most holds.
    fn codes_of(&self, items: &[Digest], found: &mut Vec<Option<u32>>) -> Result<()> {
        self.hashes.codes_of(items, found);
        let mut new = Vec::new();
        let numbered = self.numbered.read().unwrap_or_else(PoisonError::into_inner);
        let known = numbered.known();
        for (at, (code, item)) in found.iter_mut().zip(items).enumerate() {
            let Some(of_hash) = *code else { continue };
            match known.code(of_hash, *item) {
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

    /// Put all users of the partition into blocks. The last block is written when it is full, or by [`Blocks::write`].
    fn fill(&self, buffers: &mut Buffers) -> Result<()> {
        let Buffers { partition, codes, users, packed } = buffers;
        self.codes_of(&partition.items, codes)?;
        partition.each_user(|items, user, places, keyed| {
            let item = |place: &u32| codes[*place as usize].ok_or(items[*place as usize]);
            self.bounded.add((items, user, places), item, (&mut *users, keyed));
            if users.rows() >= BLOCK_ROWS { self.write(users, packed) } else { Ok(()) }
        })
    }

    /// Write a block.
    fn write(&self, users: &mut Users, packed: &mut Vec<u8>) -> Result<()> {
        if users.rows() > 0 {
            self.written.add(users, packed)?;
        }
        users.clear();
        Ok(())
    }
}

impl Rounds<'_> {
    /// The decisions of the last round, given the hashes of all items with more than one user.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn scored(&self, contributions: Arc<Stored>, hashes: Hashes) -> Result<Packed> {
        let (stages, spec) = (self.stages, self.job.spec());
        let Some((rounds, publish)) = spec.calibration.scoring() else {
            return Err(Error::Internal("the rounds do not score"));
        };
        let budgets = publish.budgets();
        let (mut blocks, digests) = self.in_blocks(&contributions, budgets.clone(), hashes)?;
        drop(contributions);
        let (mut items, number) = (self.items_before_rounds(digests.as_slice())?, digests.len());
        // Before the next arrays, so that the peak is lower.
        drop(digests);
        let shared = SharedItems::new(number);
        stages.control.end_phase();
        let released = Mutex::default();
        for (number, scoring) in (0_u32..).zip(rounds) {
            let decider = Decider::new(&spec.calibration, number, spec.with_weights)?;
            let is_last = decider.may_release();
            let round = (decider, Words::new(self.job.key(), Purpose::Noise, number));
            let in_round = budgets.in_round(scoring.share);
            blocks.each(
                stages,
                (&shared, &released, is_last),
                |users, released| {
                    users.run(&in_round, &shared, &round, released)?;
                    users.hand_over(&shared);
                    Ok(())
                },
                |users| users.end(&shared),
            )?;
            items.each(
                stages,
                (&shared, &released, is_last),
                |items, released| items.run(&shared, &round, released),
                |_| {},
            )?;
            stages.control.end_phase();
        }
        let released: Vec<u8> = released.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.held_bytes(released)
    }

    /// The users in blocks, and the shared items by code.
    fn in_blocks(
        &self,
        contributions: &Stored,
        budgets: Budgets,
        hashes: Hashes,
    ) -> Result<(Rewritten<Users>, Growing<u128>)> {
        let (stages, key) = (self.stages, self.job.key());
        let numbered = RwLock::new(Numbered::new(&hashes, MOST_SHARED));
        let bound = self.job.spec().bound.ok_or(Error::Internal("rounds without a bound"))?;
        let (bounded, written) = (Bounded::new(bound, key, budgets), Rewritten::new(self.scratch)?);
        let blocks = Blocks { bounded, hashes: &hashes, numbered: &numbered, written: &written };
        let buffers = || Buffers {
            partition: Partition::new(key),
            codes: Vec::new(),
            users: Users::default(),
            packed: Vec::new(),
        };
        stages.each_partition(
            contributions,
            buffers,
            |buffers, _, values| {
                buffers.partition.read(contributions, values, stages.control)?;
                blocks.fill(buffers)
            },
            |mut buffers| blocks.write(&mut buffers.users, &mut buffers.packed),
        )?;
        drop(hashes);
        Ok((written, numbered.into_inner().unwrap_or_else(PoisonError::into_inner).items()))
    }

    /// These items before the first round, many together.
    fn items_before_rounds(&self, digests: &[u128]) -> Result<Rewritten<CodedItems>> {
        let (items, mut packed) = (Rewritten::new(self.scratch)?, Vec::new());
        for (number, digests) in digests.chunks(TOGETHER).enumerate() {
            let first = codes(number * TOGETHER);
            let digests = digests.iter().copied().map(Digest).collect::<Vec<_>>();
            let coded = CodedItems::new((first..first + codes(digests.len())).collect(), digests);
            items.add(&coded, &mut packed)?;
        }
        Ok(items)
    }
}
