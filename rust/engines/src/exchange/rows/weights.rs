//! The weight that a user gives to each of its items.

use dpsel_core::rounds::Round;
use dpsel_exact::numeric::widths::{clipped, index};

/// The weight that a user gives to each of its k items, as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Weights {
    round: Round,
    known: Vec<u64>,
}

impl Weights {
    pub(crate) fn new(round: &Round) -> Self {
        Self { round: round.clone(), known: Vec::new() }
    }

    /// The weight for a user of so many items, of which it keeps all.
    pub(crate) fn of(&mut self, items: u64) -> u64 {
        let at = index(items);
        for k in self.known.len()..=at {
            // Clipping is safe: users of more items give less to each.
            let k = clipped(k);
            self.known.push(self.round.weighting.weight_in_quanta(k, self.round.rule.quantum()));
        }
        self.known[at]
    }
}
