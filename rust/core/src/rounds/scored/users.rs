//! Users become blocks, as do the items that they share.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_rows::contributions::{Digests, Keys, Lineage, Vocabulary};
use dpsel_rows::runtime::Control;
use dpsel_rows::runtime::parallel::{self, Idle};

use super::descent;
use super::division::{KeptPart, divide_users, enough_rows};
use super::slots::ItemSlots;
use crate::bounding::KeptPiece;
use crate::rounds::block::{
    BLOCK_ITEMS, ItemBlock, Kept, MOST_USERS, RANGE, ROW_BYTES, SharedTable, THREAD_SLOTS, UserBlock,
    push_alone,
};
use crate::weighting::Allowances;

/// Users and the items that they share, before the first round.
#[derive(Debug)]
pub(super) struct InBlocks {
    pub(super) users: Vec<UserBlock<u32>>,
    pub(super) items: Vec<ItemBlock>,
    pub(super) shared: SharedTable,
    /// The code of each slot.
    pub(super) codes: Vec<u32>,
    pub(super) keys: Keys,
    /// The threads that work on users.
    pub(super) threads: usize,
}

/// The slots of shared items and the codes of the others, while a block is made. Their memory is used again: fresh memory
/// is dear.
#[derive(Debug, Default)]
struct Buffers {
    shared: Vec<u32>,
    alone: Vec<u32>,
}

/// Bytes for so many users with so many rows, of items with codes below `codes`, at most. The memory of items, which was
/// counted, is freed as blocks are made.
pub(super) fn bytes(users: usize, rows: usize, codes: usize, control: &Control) -> usize {
    let (row, range) = ROW_BYTES;
    let threads = parallel::threads_for(rows, control);
    let blocks = 1 + users / MOST_USERS + rows / enough_rows(rows, threads);
    // An item with a slot has two users or more.
    let slots = codes.min(rows / 2).next_multiple_of(RANGE);
    let ranges = blocks * slots / RANGE;
    let sums = (threads * slots).min(THREAD_SLOTS) + threads * RANGE;
    let of_items = rows * size_of::<u32>();
    (rows * row).saturating_sub(of_items) + ranges.min(rows) * range + sums * size_of::<u32>()
}

impl InBlocks {
    /// Users who keep these items. Digests in the vocabulary are freed before noise, exposures, importances and drifts take
    /// memory.
    pub(super) fn new(
        pieces: Vec<KeptPiece>,
        vocabulary: Vocabulary,
        allowances: &Allowances,
        control: &Control,
    ) -> Result<Self> {
        let rows = pieces.iter().flat_map(KeptPiece::items_by_user).map(<[u32]>::len).sum();
        let threads = parallel::threads_for(rows, control);
        let slots = ItemSlots::assign(&pieces, vocabulary.code_bound(), threads);
        let (digests, lineage) = (vocabulary.digests(), vocabulary.keys().lineage());
        let shared_lines = lineage.map(|lineage| descent::of_shared(&slots, lineage)).transpose()?;
        let chunks = slots.codes().chunks(BLOCK_ITEMS).enumerate().collect();
        let mut items = parallel::map(threads, chunks, |(number, codes): (usize, &[u32])| {
            ItemBlock::new(number * BLOCK_ITEMS, digests.of(codes))
        });
        let idle = Idle::default();
        let users = parallel::map(threads, divide_users(pieces, enough_rows(rows, threads)), |users| {
            let mut buffers = idle.take(Buffers::default);
            let block = buffers.block(&users, (&slots, lineage), (&digests, allowances));
            idle.put(buffers);
            block
        });
        let mut users = users.into_iter().collect::<Result<Vec<_>>>()?;
        let codes = slots.into_codes();
        let (keys, digests) = vocabulary.into_keys();
        parallel::free(threads, digests);
        parallel::map(threads, users.iter_mut().collect(), UserBlock::begin);
        items.iter_mut().for_each(ItemBlock::begin);
        let shared = SharedTable::new(codes.len(), (threads, THREAD_SLOTS)).with_lines(shared_lines);
        Ok(Self { users, items, shared, codes, keys, threads })
    }
}

impl Buffers {
    /// The block of these users, with the items that they share and the others.
    fn block(
        &mut self,
        users: &KeptPart,
        (slots, lineage): (&ItemSlots, Option<&Lineage>),
        (digests, allowances): (&Digests<'_>, &Allowances),
    ) -> Result<UserBlock<u32>> {
        let Self { shared, alone } = self;
        let places = users.items().map(|items| allowances.short_place(items.len())).collect();
        let rows = users.rows();
        shared.resize(rows.max(shared.len()), 0);
        alone.resize(rows.max(alone.len()), 0);
        let (mut shared_end, mut alone_end) = (0, 0);
        // How many items of each user have slots, and how many have none.
        let mut lens = Vec::with_capacity(users.len());
        let mut lines = lineage.map(|_| Vec::new());
        for items in users.items() {
            let with_slot = slots.separate(items, &mut shared[shared_end..], &mut alone[alone_end..]);
            let others = items.len() - with_slot;
            if let (Some(lineage), Some(lines)) = (lineage, &mut lines) {
                push_alone(
                    &mut alone[alone_end..][..others],
                    alone_end,
                    lineage,
                    |item| slots.slot_of(item),
                    lines,
                )?;
            }
            lens.push((codes(with_slot), codes(others)));
            (shared_end, alone_end) = (shared_end + with_slot, alone_end + others);
        }
        let alone = &alone[..alone_end];
        let alone = (alone.to_vec(), digests.of(alone));
        let shared = &shared[..shared_end];
        Ok(UserBlock::new(Kept { allowances: places, lens: &lens, shared, alone, lines }, allowances))
    }
}
