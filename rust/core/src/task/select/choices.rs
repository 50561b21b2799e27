//! The requests between which a look at the data may choose, all of them calibrated before any row is read.

use dpsel_exact::Result;
use dpsel_rows::contributions::Totals;
use dpsel_rows::ingest::NGrams;
use dpsel_rows::runtime::Control;

use super::request::SelectRequest;
use crate::counting::Holdings;
use crate::rounds::{self, Calibration};
use crate::task::calibration::{Calibrated, CalibratedSelect};

/// The request, or those between which a look chooses.
#[derive(Debug)]
pub struct Possible(Vec<CalibratedSelect>);

impl Possible {
    /// # Errors
    /// As [`SelectRequest::calibrate`].
    pub fn of(request: &SelectRequest) -> Result<Self> {
        let calibrated = |possible: SelectRequest| {
            let calibration = possible.calibrate_once()?;
            Ok(Calibrated::of(possible, calibration))
        };
        Ok(Self(request.possible()?.into_iter().map(calibrated).collect::<Result<_>>()?))
    }

    /// Each of them.
    pub fn each(&self) -> impl Iterator<Item = &CalibratedSelect> {
        self.0.iter()
    }

    /// The most rounds that the mechanism may have.
    #[must_use]
    pub fn most_rounds(&self) -> usize {
        let rounds = self.each().map(|possible| possible.calibration.rounds.len());
        rounds.max().unwrap_or(0) // Otherwise: no rounds.
    }

    /// The n-grams that are items, if those inside one stand above it in the rounds that there may be.
    pub(super) fn parts(&self) -> Option<NGrams> {
        self.each()
            .find_map(|possible| possible.request.columns.ngrams.filter(|_| possible.calibration.descent))
    }

    /// The bytes that a release in memory takes beside its rows: those of the rounds and counts that it may have.
    /// `public` is the number of public items.
    pub(super) fn bytes_beside_rows(&self, public: usize, control: &Control) -> impl Fn(Totals) -> usize {
        move |totals| {
            let bytes = self.each().map(|possible| {
                let Calibrated { request, calibration, .. } = possible;
                let most_rows = request.numbers().map(|asked| asked.most_rows());
                beside_rows(calibration, most_rows, (totals, public), control)
            });
            bytes.max().unwrap_or(0) // Otherwise: no rounds.
        }
    }
}

/// The bytes that rounds take beside the rows, and the numbers after them if so many rows of a user and an item count.
pub(in crate::task) fn beside_rows(
    calibration: &Calibration,
    most_rows: Option<u32>,
    (totals, public): (Totals, usize),
    control: &Control,
) -> usize {
    let Totals { users, codes, rows } = totals;
    let rounds = rounds::bytes(calibration, totals, control);
    most_rows.map_or(rounds, |most_rows| {
        // Rounds give their memory back before items are counted.
        let sums = Holdings::bytes_of_sums(codes, codes + public, rows);
        Holdings::bytes(most_rows, users, rows) + rounds.max(sums)
    })
}
