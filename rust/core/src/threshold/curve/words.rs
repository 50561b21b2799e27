//! The table of a release curve, ready to decide items.

use std::sync::Arc;

use dpsel_exact::Result;
use dpsel_exact::numeric::UNIT;
use dpsel_rows::runtime::Remembered;

use super::continuous::Continuous;
use super::kind::{CurveKind, out_of_range};
use super::l1::L1;
use super::l2::L2;
use super::probability::Probability;
use super::region::{self, Point, Region};
use super::table;

/// The table of a curve: how many of the 2^128 words release an item.
#[derive(Debug)]
pub struct Curve {
    pub(super) quantum: u64,
    /// One for each number of quanta.
    words: Vec<u128>,
    shape: Shape,
}

/// The shape of a curve between the entries of its table and beyond them.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Weights are multiples of the quantum; beyond the end every word releases.
    Steps,
    /// Straight lines, after a parabola of `start` times the square of the weight; beyond the end the last entry.
    Lines { start: u128 },
}

/// Everything that the table of a curve depends on.
type CurveParameters = (CurveKind, u64);
static RECENT: Remembered<CurveParameters, Arc<Curve>> = Remembered::new(16);

impl Curve {
    /// Make the table.
    ///
    /// # Contract
    /// Probabilities are multiples of 2^-128, never fall with the weight, and each two satisfy the constraint of the
    /// curve in real numbers and in both directions. An item without weight is never released.
    ///
    /// # Errors
    /// [`Error::Calibration`] if parameters are out of range or the table would be too large.
    pub fn new(kind: CurveKind, quantum: u64) -> Result<Self> {
        let (entries, shape) = entries(kind, quantum)?;
        Ok(Self { quantum, words: entries.into_iter().map(Probability::words).collect(), shape })
    }

    /// The curve of a calibration. The last few are remembered; nothing but public parameters goes in.
    ///
    /// # Errors
    /// As [`Curve::new`].
    pub fn of(kind: CurveKind, quantum: u64) -> Result<Arc<Self>> {
        RECENT.get((kind, quantum), || Ok(Arc::new(Self::new(kind, quantum)?)))
    }

    /// Whether an item of this weight (grid steps) is released.
    ///
    /// # Contract
    /// For a uniform `word` this is true with the probability of the curve, exactly. The contributions that make up the
    /// weight are multiples of [`CurveSpec::contribution_quantum`]. Monotone: true for a weight implies true for larger
    /// ones.
    #[inline]
    #[must_use]
    pub fn releases(&self, weight: u64, word: u128) -> bool {
        self.words_at(weight).is_none_or(|words| word < words)
    }

    /// The numbers of words, out of 2^128, that release an item of 0, 1, 2, ... quanta. Beyond the end of the list all
    /// words do; with a continuous curve, the last number holds.
    #[must_use]
    pub fn words(&self) -> &[u128] {
        &self.words
    }

    /// The probability of a release, for people.
    #[must_use]
    pub fn probability(&self, weight: u64) -> f64 {
        self.words_at(weight).map_or(1.0, |words| words as f64 / 2_f64.powi(128))
    }

    /// The number of words that release an item of this weight; `None` if all do.
    fn words_at(&self, weight: u64) -> Option<u128> {
        let entry = |at: u64| usize::try_from(at).ok().and_then(|at| self.words.get(at)).copied();
        let (at, beyond) = (weight / self.quantum, u128::from(weight % self.quantum));
        match self.shape {
            Shape::Steps => entry(at),
            Shape::Lines { start } if at == 0 => Some(start * beyond * beyond),
            Shape::Lines { .. } => {
                let here = entry(at).or_else(|| self.words.last().copied())?;
                // Otherwise: the curve stays at the last entry.
                let next = entry(at + 1).unwrap_or(here);
                // Entries are multiples of the quantum, so that nothing is rounded here.
                Some(here + (next - here) / u128::from(self.quantum) * beyond)
            }
        }
    }

    /// The least weight at which `words` words release, or the end of the table.
    #[must_use]
    pub fn weight_of(&self, words: u128) -> u64 {
        let (mut low, mut high) = (0, self.words.len() as u64 * self.quantum);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.words_at(middle).is_none_or(|at| at >= words) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// The least weight at which a release is at least as likely as not.
    pub(super) fn half(&self) -> u64 {
        self.weight_of(1 << 127)
    }
}

/// The entries of a curve and its shape between them. At most `UNIT / quantum` quanta, or the norm, make up a change.
fn entries(kind: CurveKind, quantum: u64) -> Result<(Vec<Probability>, Shape)> {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    let changes = changes(quantum)?;
    let span = changes.len() - 1;
    let steps = |entries| (entries, Shape::Steps);
    match kind {
        CurveKind::L1 { epsilon, delta } if positive(epsilon) && positive(delta) && delta < 1.0 => {
            table::build(&L1::new(epsilon, delta, &changes), span).map(steps)
        }
        CurveKind::OneUnit { adding, removing, delta }
            if positive(adding)
                && positive(removing)
                && positive(delta)
                && delta < 1.0
                && quantum == UNIT =>
        {
            table::build(&L1::one_unit(adding, removing, delta), span).map(steps)
        }
        CurveKind::L2 { alpha, divergence, delta }
            if positive(alpha - 1.0) && positive(divergence) && positive(delta) && delta < 1.0 =>
        {
            table::build(&L2::new(alpha, divergence, delta, &changes), span).map(steps)
        }
        CurveKind::L2Continuous { alpha, divergence, delta, norm }
            if positive(alpha - 1.0) && positive(divergence) && positive(delta) && delta < 1.0 =>
        {
            lines(alpha, &[Point { divergence, delta }], norm, quantum)
        }
        CurveKind::L2Region { alpha, epsilon, delta }
            if positive(alpha - 1.0) && positive(epsilon) && positive(delta) && delta < 1.0 =>
        {
            let points = region::points(alpha, epsilon, delta).ok_or_else(out_of_range)?;
            table::build(&Region::new(alpha, &points, &changes), span).map(steps)
        }
        CurveKind::L2ContinuousRegion { alpha, epsilon, delta, norm }
            if positive(alpha - 1.0) && positive(epsilon) && positive(delta) && delta < 1.0 =>
        {
            let points = region::points(alpha, epsilon, delta).ok_or_else(out_of_range)?;
            lines(alpha, &points, norm, quantum)
        }
        CurveKind::L1 { .. }
        | CurveKind::OneUnit { .. }
        | CurveKind::L2 { .. }
        | CurveKind::L2Continuous { .. }
        | CurveKind::L2Region { .. }
        | CurveKind::L2ContinuousRegion { .. } => Err(out_of_range()),
    }
}

/// The entries of a continuous curve for these points of the budget.
fn lines(alpha: f64, points: &[Point], norm: u64, quantum: u64) -> Result<(Vec<Probability>, Shape)> {
    if !(UNIT..=2 * UNIT).contains(&norm) {
        return Err(out_of_range());
    }
    let (constraint, span) = Continuous::new(alpha, points, norm, quantum)?;
    let start = constraint.start_factor();
    table::build(&constraint, span).map(|entries| (entries, Shape::Lines { start }))
}

/// 0, 1, 2, ... quanta in units of weight, up to one unit. Exact: they are integers below 2^31 over 2^30.
fn changes(quantum: u64) -> Result<Vec<f64>> {
    if !(UNIT >> 16..=UNIT).contains(&quantum) {
        return Err(out_of_range());
    }
    Ok((0..=UNIT / quantum).map(|quanta| (quanta * quantum) as f64 / UNIT as f64).collect())
}
