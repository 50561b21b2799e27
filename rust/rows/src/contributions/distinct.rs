//! The distinct items of one user after another.

/// With fewer items there are more free slots, which saves time and takes little memory.
const FEW: usize = 1 << 14;

/// A small set with one word per slot, `epoch << 32 | code`. Raising the epoch empties it.
#[derive(Debug, Default)]
pub(super) struct SeenItems {
    slots: Vec<u64>,
    epoch: u32,
}

impl SeenItems {
    /// Move the first occurrence of each item to the front; returns how many there are.
    pub(super) fn keep_first(&mut self, items: &mut [u32]) -> u32 {
        if items.len() < 2 {
            return u32::from(!items.is_empty());
        }
        let room = if items.len() < FEW { 4 } else { 2 };
        let size = (items.len() * room).next_power_of_two();
        if self.slots.len() < size {
            self.slots.resize(size, 0);
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill(0);
            self.epoch = 1;
        }
        let mut kept = 0;
        for i in 0..items.len() {
            let item = items[i];
            if self.insert(item, size - 1) {
                items[kept as usize] = item;
                kept += 1;
            }
        }
        kept
    }

    fn insert(&mut self, item: u32, mask: usize) -> bool {
        let entry = u64::from(self.epoch) << 32 | u64::from(item);
        let mut at = (item.wrapping_mul(0x9e37_79b9) >> 7) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == entry {
                return false;
            }
            if (slot >> 32) as u32 != self.epoch {
                self.slots[at] = entry;
                return true;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_occurrences_are_kept() {
        let mut seen = SeenItems::default();
        for n in [1_u32, 2, 7, 100, 3] {
            let mut items: Vec<u32> = (0..3 * n).map(|i| i % n * 64).collect();
            let kept = seen.keep_first(&mut items);
            let expected: Vec<u32> = (0..n).map(|i| i * 64).collect();
            assert_eq!(items[..kept as usize], expected);
        }
    }
}
