//! Values that every round reads and changes in place.

use std::sync::{Mutex, PoisonError};

use super::stages::Stages;
use crate::Result;
use crate::exchange::{InParts, SharedItems};
use crate::scratch::{Scratch, Slot, Slots};

/// A part of one in so many has to be abandoned before what does not change is written anew without it.
const ABANDONED: usize = 4;

/// Values in scratch.
#[derive(Debug)]
pub(super) struct Rewritten<V> {
    slots: Slots,
    /// Where the values stand that are left.
    left: Mutex<Vec<Slot>>,
    values: std::marker::PhantomData<fn() -> V>,
}

/// What one thread works with.
#[derive(Default)]
struct Work<V> {
    value: V,
    fixed: Vec<u8>,
    changing: Vec<u8>,
    left: Vec<Slot>,
    released: Vec<u8>,
}

impl<V: InParts> Rewritten<V> {
    /// No value so far.
    ///
    /// # Errors
    /// [`crate::Error::File`] if the folder takes no file.
    pub(super) fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self { slots: Slots::new(scratch)?, left: Mutex::default(), values: std::marker::PhantomData })
    }

    /// Add a value before the first round.
    ///
    /// # Errors
    /// Those of scratch.
    pub(super) fn add(&self, value: &V, packed: &mut Vec<u8>) -> Result<()> {
        packed.clear();
        value.pack_fixed(packed);
        let slot = self.slots.add(packed)?;
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        Ok(())
    }

    /// Let `work` change all values of a round, and append packed decisions. `end` takes the memory of each thread. After
    /// the last round nothing is written.
    ///
    /// # Errors
    /// Those of scratch and of `work`; an interruption.
    pub(super) fn each(
        &mut self,
        stages: Stages<'_>,
        (shared, released, is_last): (&SharedItems, &Mutex<Vec<u8>>, bool),
        work: impl Fn(&mut V, &mut Vec<u8>) -> Result<()> + Sync,
        end: impl Fn(&mut V) + Sync,
    ) -> Result<()> {
        let Self { slots, left, .. } = self;
        let mut before = std::mem::take(left.get_mut().unwrap_or_else(PoisonError::into_inner));
        before.sort_unstable_by_key(Slot::place);
        let left = &*left;
        stages.each(
            before,
            Work::<V>::default,
            |own, slot| {
                let has_changed = slots.read(&slot, &mut own.fixed, &mut own.changing)?;
                own.value.read_parts(&own.fixed, has_changed.then_some(&own.changing))?;
                work(&mut own.value, &mut own.released)?;
                if is_last { Ok(()) } else { own.write(slots, slot, shared) }
            },
            |mut own| {
                end(&mut own.value);
                released.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own.released);
                left.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own.left);
                Ok(())
            },
        )
    }
}

impl<V: InParts> Work<V> {
    /// Write what later rounds need of the value.
    fn write(&mut self, slots: &Slots, mut slot: Slot, shared: &SharedItems) -> Result<()> {
        let (size, abandoned) = self.value.size();
        if abandoned == size {
            return Ok(());
        }
        if abandoned * ABANDONED > size {
            self.value.leave(shared);
            self.fixed.clear();
            self.value.pack_fixed(&mut self.fixed);
            slots.write_fixed(&mut slot, &mut self.fixed)?;
        }
        self.changing.clear();
        self.value.pack_changing(&mut self.changing);
        slots.write_changing(&mut slot, &mut self.changing)?;
        self.left.push(slot);
        Ok(())
    }
}
