//! Which shared items stand above which, by slots.

use dpsel_exact::Result;
use dpsel_rows::contributions::Lineage;

use super::slots::ItemSlots;
use crate::rounds::block::{NOT_CLOSED, SharedLines};

/// The lines of shared items. Whoever keeps an item keeps the one above it, so that one is shared, too.
pub(super) fn of_shared(slots: &ItemSlots, lineage: &Lineage) -> Result<SharedLines> {
    let mut lines = Vec::new();
    for (slot, code) in (0_u32..).zip(slots.codes()) {
        for above in lineage.above(*code) {
            lines.push((slot, slots.slot_of(above).ok_or(NOT_CLOSED)?));
        }
    }
    Ok(SharedLines::new(slots.codes().len(), lines))
}
