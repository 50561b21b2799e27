//! Blocks that every round reads and changes in place.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use dpsel_core::rounds::{Blocks, PackBlock};
use dpsel_exact::Result;
use dpsel_rows::scratch::{Scratch, StoredValue, ValueStore};

use crate::disk::threads::Stages;

/// Blocks in scratch.
#[derive(Debug)]
pub(super) struct DiskBlocks<'a, B> {
    stages: Stages<'a>,
    values: ValueStore,
    /// Where the blocks stand that are left.
    left: Mutex<Vec<StoredValue>>,
    blocks: PhantomData<fn() -> B>,
}

/// What one thread works with.
#[derive(Default)]
struct BlockBuffers<B> {
    block: B,
    fixed: Vec<u8>,
    changing: Vec<u8>,
    left: Vec<StoredValue>,
}

impl<'a, B: PackBlock> DiskBlocks<'a, B> {
    /// No block so far.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::File`] if the folder takes no file.
    pub(super) fn new(stages: Stages<'a>, scratch: &Scratch) -> Result<Self> {
        Ok(Self { stages, values: ValueStore::new(scratch)?, left: Mutex::default(), blocks: PhantomData })
    }

    /// Add a block before the first round.
    ///
    /// # Errors
    /// Those of scratch.
    pub(super) fn add(&self, block: &B, packed: &mut Vec<u8>) -> Result<()> {
        packed.clear();
        block.pack_fixed(packed);
        let value = self.values.add(packed)?;
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(value);
        Ok(())
    }
}

impl<B: PackBlock> Blocks<B> for DiskBlocks<'_, B> {
    fn each<R: Send>(
        &mut self,
        is_last: bool,
        work: impl Fn(&mut B, &mut Vec<R>) -> Result<()> + Sync,
    ) -> Result<Vec<R>> {
        let Self { stages, values, left, .. } = self;
        let mut before = std::mem::take(left.get_mut().unwrap_or_else(PoisonError::into_inner));
        before.sort_unstable_by_key(StoredValue::place);
        let (left, made) = (&*left, Mutex::<Vec<R>>::default());
        stages.each(
            before,
            || (BlockBuffers::<B>::default(), Vec::new()),
            |(own, own_made), value| {
                let has_changed = values.read(&value, &mut own.fixed, &mut own.changing)?;
                own.block.read(&own.fixed, has_changed.then_some(&own.changing))?;
                work(&mut own.block, own_made)?;
                if is_last { Ok(()) } else { own.write(values, value) }
            },
            |(mut own, mut own_made)| {
                made.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own_made);
                left.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own.left);
                Ok(())
            },
        )?;
        Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<B: PackBlock> BlockBuffers<B> {
    /// Write what later rounds need of the block.
    fn write(&mut self, values: &ValueStore, mut value: StoredValue) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        if self.block.is_shorter() {
            self.fixed.clear();
            self.block.pack_fixed(&mut self.fixed);
            values.write_fixed(&mut value, &mut self.fixed)?;
        }
        self.changing.clear();
        self.block.pack_changing(&mut self.changing);
        values.write_changing(&mut value, &mut self.changing)?;
        self.left.push(value);
        Ok(())
    }
}
