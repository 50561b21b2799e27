//! The importances of all items, if a round sets them.

use super::calibration::Calibration;
use super::decision::ItemState;

/// An importance for each item code. If no round sets importances, there is none, and all are full.
#[derive(Debug)]
pub(super) struct ItemStates(Option<Vec<u16>>);

/// The importances of a range of codes.
#[derive(Debug)]
pub(super) struct StatesPart<'a>(&'a mut [u16]);

impl ItemStates {
    /// Before the first round.
    pub(super) fn new(calibration: &Calibration, codes: usize) -> Self {
        let screened = calibration.rounds.iter().any(|round| round.rule.screening().is_some());
        Self(screened.then(|| vec![ItemState::default().importance; codes]))
    }

    /// The importance of each code; `None` if no round steers, so that all are full.
    pub(super) fn importances(&self) -> Option<&[u16]> {
        self.0.as_deref()
    }

    /// The states of consecutive ranges of `step` codes. The last ranges may be empty.
    pub(super) fn parts(&mut self, step: usize) -> impl Iterator<Item = StatesPart<'_>> {
        // Otherwise: no importances.
        let importances = self.0.as_deref_mut().unwrap_or_default();
        importances.chunks_mut(step).chain(std::iter::repeat_with(Default::default)).map(StatesPart)
    }
}

impl StatesPart<'_> {
    /// The state of the item at a place of the range.
    #[inline]
    pub(super) fn get(&self, at: usize) -> ItemState {
        let first = ItemState::default();
        let importance = self.0.get(at).map_or(first.importance, |importance| *importance);
        ItemState { importance, ..first }
    }

    /// Set the state of the item at a place of the range, if importances are set.
    #[inline]
    pub(super) fn set(&mut self, at: usize, state: ItemState) {
        self.0.get_mut(at).into_iter().for_each(|importance| *importance = state.importance);
    }
}
