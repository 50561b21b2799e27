//! Which items stand above which, by slots and places in blocks.

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Lineage;

use super::slots::ItemSlots;
use crate::rounds::block::{Above, SharedLines};

const NOT_CLOSED: Error = Error::Internal("a user keeps an item without those above it");

/// The lines of shared items. Whoever keeps an item keeps the one above it, so that one is shared, too.
pub(super) fn of_shared(slots: &ItemSlots, lineage: &Lineage) -> Result<SharedLines> {
    let mut lines = Vec::new();
    for (slot, code) in (0_u32..).zip(slots.codes()) {
        for above in lineage.above(*code) {
            lines.push((slot, slots.slot_of(above).ok_or(NOT_CLOSED)?));
        }
    }
    lines.sort_by_key(|(slot, _)| lineage.level(slots.codes()[*slot as usize]));
    Ok(SharedLines::new(slots.codes().len(), lines))
}

/// Put the items that a user alone keeps in order from the top of the tree down, and append what stands above each. They
/// stand in their block from the place `first` on.
pub(super) fn push_alone(
    items: &mut [u32],
    first: usize,
    (slots, lineage): (&ItemSlots, &Lineage),
    lines: &mut Vec<[Above; 2]>,
) -> Result<()> {
    let order = |item: &u32| (lineage.level(*item), *item);
    items.sort_unstable_by_key(order);
    let place = |above: u32| items.binary_search_by_key(&order(&above), order).map_err(|_| NOT_CLOSED);
    for item in &*items {
        let mut above = [Above::Nothing; 2];
        for (found, above) in above.iter_mut().zip(lineage.above(*item)) {
            *found = match slots.slot_of(above) {
                Some(slot) => Above::Shared(slot),
                None => Above::Alone(codes(first + place(above)?)),
            };
        }
        lines.push(above);
    }
    Ok(())
}
