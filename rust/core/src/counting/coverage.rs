//! What is published of a list: noisy numbers of users and rows, and the shares that it covers.

use serde::{Deserialize, Serialize};

use super::noise::HalfWidth;

/// Noisy numbers of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestUsers {
    /// With all of their items in the list.
    pub all: i64,
    /// With some of them.
    pub some: i64,
    /// With none.
    pub none: i64,
}

/// Noisy numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestRows {
    /// Of items in the list.
    pub inside: i64,
    /// Of other items.
    pub outside: i64,
}

/// The published numbers, and what they say about the list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRest {
    /// Of users.
    pub users: RestUsers,
    /// Of rows, if they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RestRows>,
    /// The covered shares.
    pub coverage: Coverage,
}

/// What part of users and rows a list covers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Of users: those with an item in the list.
    pub users: Covered,
    /// Of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Covered>,
}

/// A covered part, with an interval of 95 % for the noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covered {
    /// The estimate; none if the numbers are all noise.
    pub share: Option<f64>,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Covered {
    /// The part of `inside` in `inside + outside`, whose noise has variance `parts` and 1 times the square of `sigma`.
    ///
    /// Fieller's interval: all p with |(1 - p) inside - p outside| within 1.96 of its standard deviations.
    pub(super) fn of((inside, parts): (i64, f64), outside: i64, sigma: f64) -> Self {
        let (inside, outside) = (inside as f64, outside as f64);
        let total = inside + outside;
        // Rounding to whole numbers moves each of them by at most a half.
        let reach = HalfWidth::TWO_SIDED * sigma + 0.5 * (1.0 + parts).sqrt();
        let square = reach * reach;
        let lead = total * total - square * (1.0 + parts);
        if total <= 0.0 || lead <= 0.0 {
            return Self { share: None, low: 0.0, high: 1.0 };
        }
        let middle = inside * total - square * parts;
        // Otherwise: rounding made it negative, where it is 0.
        let root = reach * (inside * inside + parts * outside * outside - square * parts).max(0.0).sqrt();
        let within = |p: f64| p.clamp(0.0, 1.0);
        Self {
            share: Some(within(inside / total)),
            low: within((middle - root) / lead),
            high: within((middle + root) / lead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_where_the_numbers_may_be() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-3, "{got} {want}");
        let found = Covered::of((9000, 1.0), 1000, 100.0);
        near(found.share.unwrap(), 0.9);
        // 1.96 * 100 * sqrt(0.1^2 + 0.9^2) / 10000, hardly more with the curvature.
        near(found.low, 0.9 - 0.0178);
        near(found.high, 0.9 + 0.0178);
        for p in [found.low, found.high] {
            let off = ((1.0 - p) * 9000.0 - p * 1000.0).abs() / (p * p + (1.0 - p) * (1.0 - p)).sqrt();
            near(off, HalfWidth::TWO_SIDED * 100.0 + 0.5 * 2_f64.sqrt());
        }
        let two = Covered::of((900, 2.0), 100, 10.0);
        let off = ((1.0 - two.low) * 900.0 - two.low * 100.0)
            / (two.low * two.low + 2.0 * (1.0 - two.low) * (1.0 - two.low)).sqrt();
        near(off, HalfWidth::TWO_SIDED * 10.0 + 0.5 * 3_f64.sqrt());
        // All noise.
        for (inside, outside) in [(0, 0), (-5, 3), (100, 100), (-9000, -9000)] {
            assert_eq!(
                Covered::of((inside, 1.0), outside, 100.0),
                Covered { share: None, low: 0.0, high: 1.0 }
            );
        }
        let whole = Covered::of((9000, 1.0), -40, 100.0);
        assert_eq!((whole.share, whole.high), (Some(1.0), 1.0));
        let far = Covered::of((i64::MAX, 1.0), i64::MAX, 1.0);
        near(far.share.unwrap(), 0.5);
    }
}
