//! The largest curve under a constraint, entry by entry.

use super::probability::Probability;
use crate::{Error, Result};

/// The most entries of a curve.
const MOST_ENTRIES: usize = 1 << 21;

/// The smallest fraction of a step that is given up so that its constraint can be certified.
const FIRST_RETREAT: f64 = 1e-14;

/// What two probabilities must satisfy whose weights are a number of quanta apart.
///
/// # Contract
/// For fixed probabilities the constraint is weaker for larger changes; it is weaker for a larger `below` and for a smaller
/// `above`, as long as `below` <= `above`; two equal probabilities satisfy it. Proof: `docs/algorithms/release_curves.md`.
pub(super) trait Constraint {
    /// Whether the constraint certainly holds, in both directions.
    fn holds(&self, change: usize, below: Probability, above: Probability) -> bool;

    /// About the largest probability `above` for which it holds: a proposal.
    fn largest(&self, change: usize, below: Probability) -> Probability;
}

/// The entries of the curve up to the last one below 1.
///
/// # Contract
/// The first entry is 0, entries never fall, and any two entries that are at most `span` apart satisfy the constraint of their
/// distance; so does an entry with 1, if the latter stands for any place beyond the end.
///
/// # Errors
/// [`Error::Calibration`] if the curve does not reach 1 within [`MOST_ENTRIES`].
pub(super) fn build(constraint: &impl Constraint, span: usize) -> Result<Vec<Probability>> {
    let mut entries = vec![Probability::ZERO];
    let mut binding = 1;
    loop {
        let next = next_entry(constraint, span, &entries, &mut binding);
        if next.is_one() {
            return Ok(entries);
        }
        if entries.len() >= MOST_ENTRIES {
            return Err(Error::Calibration {
                what: format!("a release curve of fewer than {MOST_ENTRIES} steps"),
                fix: "raise epsilon or delta, or lower max_items_per_user",
            });
        }
        entries.push(next);
    }
}

/// The next entry: at least the last one, which always satisfies its constraints because they are those of the last one
/// for larger changes.
fn next_entry(
    constraint: &impl Constraint,
    span: usize,
    entries: &[Probability],
    binding: &mut usize,
) -> Probability {
    let here = entries.len();
    let reach = span.min(here);
    // Most likely the constraint that decided the last entry decides this one too.
    *binding = (*binding).min(reach);
    let mut next = certified(constraint, *binding, entries[here - *binding], Probability::ONE);
    let mut ranges = vec![(1, reach)];
    while let Some((first, last)) = ranges.pop() {
        // The smallest change with the smallest entry is harder than any of the range.
        if constraint.holds(first, entries[here - last], next) {
            continue;
        }
        if first == last {
            *binding = first;
            next = certified(constraint, first, entries[here - first], next);
        } else {
            let middle = (first * last).isqrt().clamp(first, last - 1);
            ranges.push((middle + 1, last));
            ranges.push((first, middle));
        }
    }
    next.max(entries[here - 1])
}

/// A probability up to `limit`, close to the largest, for which the constraint with `below` certainly holds.
fn certified(
    constraint: &impl Constraint,
    change: usize,
    below: Probability,
    limit: Probability,
) -> Probability {
    let guess = constraint.largest(change, below).min(limit).max(below);
    let mut fraction = FIRST_RETREAT;
    let mut above = guess;
    while fraction < 1.0 {
        if constraint.holds(change, below, above) {
            return above;
        }
        above = guess.lowered_towards(below, fraction);
        fraction *= 4.0;
    }
    below
}
