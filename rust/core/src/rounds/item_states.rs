//! The states of all items, in columns, of which only those exist that the rounds write.

use super::calibration::Calibration;
use super::decision::ItemState;

/// An [`ItemState`] for each item code. A column that no round writes is empty and stands for the state before the
/// first round.
#[derive(Debug)]
pub(super) struct ItemStates {
    noises: Vec<i64>,
    exposures: Vec<u32>,
    importances: Option<Vec<u16>>,
}

/// The states of a range of codes.
#[derive(Debug)]
pub(super) struct StatesPart<'a> {
    noises: &'a mut [i64],
    exposures: &'a mut [u32],
    importances: &'a mut [u16],
}

impl ItemStates {
    /// The states before the first round.
    pub(super) fn new(calibration: &Calibration, codes: usize) -> Self {
        let ItemState { noise, exposure, importance } = ItemState::default();
        let scored = calibration.scoring().is_some();
        let screened = calibration.rounds.iter().any(|round| round.rule.screening().is_some());
        let counted = if scored { codes } else { 0 };
        Self {
            noises: vec![noise; counted],
            exposures: vec![exposure; counted],
            importances: (scored || screened).then(|| vec![importance; codes]),
        }
    }

    /// The importance of each code; `None` if no round steers, so that all are full.
    pub(super) fn importances(&self) -> Option<&[u16]> {
        self.importances.as_deref()
    }

    /// The states of consecutive ranges of `step` codes. The last ranges may be empty.
    pub(super) fn parts(&mut self, step: usize) -> impl Iterator<Item = StatesPart<'_>> {
        let (noises, exposures) = (chunks(&mut self.noises, step), chunks(&mut self.exposures, step));
        // Otherwise: no column.
        let importances = self.importances.as_deref_mut().unwrap_or_default();
        let columns = noises.zip(exposures).zip(chunks(importances, step));
        columns.map(|((noises, exposures), importances)| StatesPart { noises, exposures, importances })
    }
}

/// The chunks of a column, then empty ones without end.
fn chunks<T>(column: &mut [T], step: usize) -> impl Iterator<Item = &mut [T]> {
    column.chunks_mut(step).chain(std::iter::repeat_with(Default::default))
}

impl StatesPart<'_> {
    /// The state of the item at a place of the range.
    #[inline]
    pub(super) fn get(&self, at: usize) -> ItemState {
        let ItemState { noise, exposure, importance } = ItemState::default();
        ItemState {
            noise: self.noises.get(at).map_or(noise, |noise| *noise),
            exposure: self.exposures.get(at).map_or(exposure, |exposure| *exposure),
            importance: self.importances.get(at).map_or(importance, |importance| *importance),
        }
    }

    /// Set the state of the item at a place of the range, in the columns that exist.
    #[inline]
    pub(super) fn set(&mut self, at: usize, state: ItemState) {
        self.noises.get_mut(at).into_iter().for_each(|noise| *noise = state.noise);
        self.exposures.get_mut(at).into_iter().for_each(|exposure| *exposure = state.exposure);
        self.importances.get_mut(at).into_iter().for_each(|importance| *importance = state.importance);
    }
}
