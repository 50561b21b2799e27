//! The largest curve under a constraint, entry by entry.

use dpsel_exact::{Error, Result};

use super::probability::Probability;

/// The most entries of a curve.
const MOST_ENTRIES: usize = 1 << 21;

/// The smallest fraction of a step that is given up so that its constraint can be certified.
const FIRST_RETREAT: f64 = 1e-14;

/// After this number of entries ranges are made anew, so that they can also grow.
const FRESH_RANGES: usize = 64;

/// The condition on two probabilities whose weights are a number of quanta apart.
///
/// # Contract
/// For fixed probabilities the constraint is weaker for larger changes; it is weaker for a larger `below` and for a
/// smaller `above`, as long as `below` <= `above`; two equal probabilities satisfy it. Proof:
/// `docs/algorithms/release_curves.md`.
pub(super) trait Constraint {
    /// Whether `above` as the next entry certainly satisfies the constraint with all entries that are the first to the
    /// last of these changes before it, in both directions.
    ///
    /// The smallest change with the smallest entry, the one that is the last change away, is harder than any of the
    /// range.
    fn holds(&self, entries: &[Probability], changes: (usize, usize), above: Probability) -> bool;

    /// About the largest next entry that satisfies the constraint of one change: a proposal.
    fn largest(&self, entries: &[Probability], change: usize) -> Probability;

    /// The first entries.
    fn start(&self) -> Vec<Probability> {
        vec![Probability::ZERO]
    }

    /// The changes for which an entry after `entries` others has to satisfy the constraint.
    fn changes(&self, entries: usize, span: usize) -> (usize, usize) {
        (1, span.min(entries))
    }

    /// A further limit of the next entry. Any smaller probability that is at least the last entry is valid too.
    fn cap(&self, _entries: &[Probability]) -> Probability {
        Probability::ONE
    }

    /// The probability as it can be kept in the table, rounded down.
    fn kept(&self, probability: Probability) -> Probability {
        probability
    }

    /// Whether the table ends with this entry, because all after it are the same.
    fn ends_with(&self, _entries: &[Probability]) -> bool {
        false
    }

    /// Whether an entry equal to the last one certainly satisfies every constraint. Usually the constraint of a change
    /// is weaker than the constraint of a smaller change, which the last entry satisfies.
    fn repeats(&self, _entries: &[Probability]) -> bool {
        true
    }
}

/// The entries of the curve up to the last one below 1, or the one with which the constraint lets it end.
///
/// # Contract
/// The first entry is 0, entries never fall, and any two entries that are at most `span` apart satisfy the constraint
/// of their distance, if that is one of its changes; so does an entry with 1 or the last one, if that stands for any
/// place beyond the end.
///
/// # Errors
/// [`Error::Calibration`] if the curve does not reach 1 within [`MOST_ENTRIES`].
pub(super) fn build(constraint: &impl Constraint, span: usize) -> Result<Vec<Probability>> {
    let mut builder =
        CurveBuilder { constraint, span, entries: constraint.start(), binding: 1, ranges: Vec::new() };
    while builder.entries.len() < MOST_ENTRIES {
        let next = builder.next_entry()?;
        if next.is_one() {
            return Ok(builder.entries);
        }
        builder.entries.push(next);
        if constraint.ends_with(&builder.entries) {
            return Ok(builder.entries);
        }
    }
    Err(unfinished())
}

fn unfinished() -> Error {
    Error::Calibration {
        what: format!("a release curve of fewer than {MOST_ENTRIES} steps"),
        fix: "raise epsilon or delta, or lower max_items_per_user",
    }
}

struct CurveBuilder<'a, C> {
    constraint: &'a C,
    span: usize,
    entries: Vec<Probability>,
    /// The change that decided the last entry: most likely it decides the next one too.
    binding: usize,
    /// Ranges of changes that could be certified at once for the last entry.
    ranges: Vec<(usize, usize)>,
}

impl<C: Constraint> CurveBuilder<'_, C> {
    /// The next entry: at least the last one.
    fn next_entry(&mut self) -> Result<Probability> {
        let next = self.largest_entry();
        let last = self.entries[self.entries.len() - 1];
        let kept = self.constraint.kept(next);
        if kept == last || !kept.is_within(last) {
            return Ok(kept);
        }
        if self.constraint.repeats(&self.entries) { Ok(last) } else { Err(unfinished()) }
    }

    /// About the largest next entry that can be certified for each change; it may be below the last one.
    fn largest_entry(&mut self) -> Probability {
        let here = self.entries.len();
        let (least, reach) = self.constraint.changes(here, self.span);
        self.binding = self.binding.clamp(least, reach);
        let mut next = self.certified(self.binding, self.constraint.cap(&self.entries));
        if here <= self.span + 1 || here.is_multiple_of(FRESH_RANGES) {
            self.ranges = vec![(least, reach)];
        }
        let mut open = std::mem::take(&mut self.ranges);
        while let Some((first, last)) = open.pop() {
            if self.constraint.holds(&self.entries, (first, last), next) {
                self.ranges.push((first, last));
            } else if first == last {
                self.binding = first;
                next = self.certified(first, next);
                self.ranges.push((first, last));
            } else {
                let middle = (first * last).isqrt().clamp(first, last - 1);
                open.extend([(middle + 1, last), (first, middle)]);
            }
        }
        next
    }

    /// A probability up to `limit`, close to the largest, for which the constraint of a change certainly holds.
    fn certified(&self, change: usize, limit: Probability) -> Probability {
        let below = self.entries[self.entries.len() - change];
        let guess = self.constraint.largest(&self.entries, change).min(limit).max(below);
        let (mut above, mut fraction) = (guess, FIRST_RETREAT);
        while fraction < 1.0 {
            if self.constraint.holds(&self.entries, (change, change), above) {
                return above;
            }
            above = guess.lowered_towards(below, fraction);
            fraction *= 4.0;
        }
        below
    }
}
