//! The sampler of the Joint paper as it is published: all k d differences in order, a logarithm for each.
//!
//! `benches/top_k.py` measures its time. Its law is that of `Joint` up to the rounding of `f64`. No release is made with
//! it, because it decides by floating-point numbers.

use std::f64::consts::LN_2;

use dpsel_core::top_k::{Counts, MAX_COUNT};
use dpsel_exact::numeric::Bits;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

/// Cells as one integer each, in the order of the paper: the difference, then the row from the last one, then the
/// column. The paper adds (k - row) d + column, scaled below 1, to the difference, which is the same order.
#[derive(Debug, Clone, Copy)]
struct Layout {
    k: usize,
    row_bits: u32,
    column_bits: u32,
}

/// Positions of the k items that the published sampler draws, in order. At most 16 bytes per cell.
///
/// # Errors
/// [`Error::InvalidParameter`] if there are fewer than `k` items; [`Error::Incompatible`] if a difference, a row and a
/// column do not fit 64 bits; [`Error::Data`] for counts out of range.
pub fn joint_by_matrix(counts: &[i64], k: usize, epsilon: f64, key: &ReleaseKey) -> Result<Vec<usize>> {
    Counts { counts, digests: None, unseen: 0 }.validate()?;
    if k == 0 || k > counts.len() {
        return Err(Error::parameter("k", "at least 1, at most the number of items", k, "ask for fewer"));
    }
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|i| (MAX_COUNT - counts[*i], *i));
    let sorted: Vec<i64> = order.iter().map(|i| counts[*i]).collect();
    let layout = Layout::new(&sorted, k)?;
    let mut coins = Coins::new(key, Purpose::TopK, 0);
    let cells = layout.cells(&sorted);
    let (drawn, seen) = layout.draw(&cells, counts.len(), epsilon, &mut coins);
    let ranks = sequence(&seen, layout.row(drawn), layout.column(drawn), &mut coins);
    Ok(ranks.into_iter().map(|rank| order[rank]).collect())
}

impl Layout {
    fn new(sorted: &[i64], k: usize) -> Result<Self> {
        let bits = |n: usize| usize::BITS - n.leading_zeros();
        let (row_bits, column_bits) = (bits(k), bits(sorted.len()));
        let range = sorted[0].abs_diff(sorted[sorted.len() - 1]) + 1;
        if row_bits + column_bits + (u64::BITS - range.leading_zeros()) > u64::BITS {
            return Err(Error::Incompatible {
                what: "the cells of the matrix do not fit 64 bits".into(),
                fix: "use Joint, which has no such limit",
            });
        }
        Ok(Self { k, row_bits, column_bits })
    }

    /// All cells in order.
    fn cells(self, sorted: &[i64]) -> Vec<u64> {
        let range = self.difference(self.cell(sorted, 0, sorted.len() - 1)) + 2;
        match usize::try_from(range) {
            Ok(range) if range <= self.k * sorted.len() => self.counted(sorted, range),
            _ => {
                let mut cells = Vec::with_capacity(self.k * sorted.len());
                self.visit(sorted, |cell| cells.push(cell));
                #[expect(
                    clippy::stable_sort_primitive,
                    reason = "finds that rows are sorted, and merges them"
                )]
                cells.sort();
                cells
            }
        }
    }

    /// Sorted by counting how many cells have each difference; within one they come in order already.
    fn counted(self, sorted: &[i64], range: usize) -> Vec<u64> {
        let level = |cell: u64| index(cell >> (self.row_bits + self.column_bits));
        let mut next = vec![0_usize; range + 1];
        self.visit(sorted, |cell| next[level(cell) + 1] += 1);
        for index in 1..next.len() {
            next[index] += next[index - 1];
        }
        let mut cells = vec![0; self.k * sorted.len()];
        self.visit(sorted, |cell| {
            let place = &mut next[level(cell)];
            cells[*place] = cell;
            *place += 1;
        });
        cells
    }

    /// All cells, row by row from the last one.
    fn visit(self, sorted: &[i64], mut visit: impl FnMut(u64)) {
        for row in (0..self.k).rev() {
            for column in 0..sorted.len() {
                visit(self.cell(sorted, row, column));
            }
        }
    }

    fn cell(self, sorted: &[i64], row: usize, column: usize) -> u64 {
        let (count, other) = (sorted[row], sorted[column]);
        // Negative differences come before the first sequence, so only that they come first matters.
        let difference = if other > count { 0 } else { count.abs_diff(other) + 1 };
        let row_from_last = (self.k - 1 - row) as u64;
        (((difference << self.row_bits) | row_from_last) << self.column_bits) | column as u64
    }

    fn column(self, cell: u64) -> usize {
        index(cell & ((1 << self.column_bits) - 1))
    }

    fn row(self, cell: u64) -> usize {
        let from_last = (cell >> self.column_bits) & ((1 << self.row_bits) - 1);
        self.k - 1 - index(from_last)
    }

    fn difference(self, cell: u64) -> u64 {
        (cell >> (self.column_bits + self.row_bits)).saturating_sub(1)
    }

    /// A cell with probability proportional to the number of sequences in it times e^-(epsilon difference / 2), and how
    /// many cells of each row come up to it.
    fn draw(self, cells: &[u64], items: usize, epsilon: f64, coins: &mut Coins) -> (u64, Vec<u32>) {
        /// No uniform number of 53 bits has log(-log u) below this.
        const LEAST: f64 = -37.5;
        let table: Vec<f64> = (0..=items).map(|n| (n.max(1) as f64).ln()).collect();
        let (mut seen, mut log_product, mut empty) = (vec![0_usize; self.k], 0.0, self.k);
        let (mut best, mut chosen) = (f64::INFINITY, 0);
        for (index, cell) in cells.iter().enumerate() {
            let row = self.row(*cell);
            seen[row] += 1;
            let choices = seen[row].saturating_sub(row);
            let others = log_product - table[choices.saturating_sub(1)];
            log_product = others + table[choices];
            empty -= usize::from(choices == 1);
            let weight = others - epsilon / 2.0 * self.difference(*cell) as f64;
            if empty == 0 && LEAST - weight < best {
                // The smallest of exponential variables of these rates is a draw with these weights.
                let uniform = coins.half_word() >> 11;
                if least_race(uniform) - weight < best {
                    let race = (-((uniform as f64 + 0.5) * 2.0_f64.powi(-53)).ln()).ln() - weight;
                    (best, chosen) = if race < best { (race, index) } else { (best, chosen) };
                }
            }
        }
        let mut up_to = vec![0_u32; self.k];
        for cell in &cells[..=chosen] {
            up_to[self.row(*cell)] += 1;
        }
        (cells[chosen], up_to)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "positions in a vector")]
fn index(position: u64) -> usize {
    position as usize
}

/// A bound of log(-log u), u = (`uniform` + 1/2) 2^-53, that needs no logarithm: -log u >= 1 - u.
fn least_race(uniform: u64) -> f64 {
    let complement = (1_u64 << 53) - 1 - uniform;
    let power = complement.checked_ilog2().map_or(-54.0, |power| f64::from(power) - 53.0);
    power * LN_2
}

/// Draw the other places, each uniformly among the remaining items that it allows.
fn sequence(seen: &[u32], row: usize, column: usize, coins: &mut Coins) -> Vec<usize> {
    let mut taken = std::collections::HashSet::from([column]);
    let mut ranks = vec![];
    for (place, allowed) in seen.iter().enumerate() {
        if place == row {
            ranks.push(column);
            continue;
        }
        loop {
            let rank = index(coins.below_u64(u64::from(*allowed)));
            if taken.insert(rank) {
                ranks.push(rank);
                break;
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DRAWS: u32 = 20_000;

    fn draw(counts: &[i64], k: usize, number: u32) -> Vec<usize> {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        joint_by_matrix(counts, k, 1.0, &ReleaseKey::insecure_test(bytes)).unwrap()
    }

    /// Theorem 3.4 of the paper: a sequence has the weight e^-(loss / 2), loss = max (`c_(i)` - count of the i-th item).
    fn law(counts: &[i64], k: usize) -> BTreeMap<Vec<usize>, f64> {
        let mut sorted = counts.to_vec();
        sorted.sort_by_key(|count| -count);
        let mut sequences = vec![vec![]];
        for _ in 0..k {
            let longer = |s: &Vec<usize>| {
                let (s, free) = (s.clone(), |item: &usize| !s.contains(item));
                (0..counts.len()).filter(free).map(|item| [&s[..], &[item]].concat()).collect::<Vec<_>>()
            };
            sequences = sequences.iter().flat_map(longer).collect();
        }
        let loss = |s: &[usize]| sorted.iter().zip(s).map(|(best, item)| best - counts[*item]).max().unwrap();
        let weights: Vec<f64> = sequences.iter().map(|s| (-0.5 * loss(s) as f64).exp()).collect();
        let sum: f64 = weights.iter().sum();
        sequences.into_iter().zip(weights.into_iter().map(|weight| weight / sum)).collect()
    }

    #[test]
    fn has_the_law_of_joint() {
        for (counts, k) in [(&[10, 10, 5][..], 2), (&[4, 3, 3, 1], 3), (&[2, 9], 1), (&[40, 40, 39, 39], 2)] {
            let law = law(counts, k);
            let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
            (0..DRAWS).for_each(|number| *seen.entry(draw(counts, k, number)).or_default() += 1);
            for (sequence, probability) in &law {
                // Otherwise: the sequence was never drawn.
                let frequency = f64::from(seen.remove(sequence).unwrap_or(0)) / f64::from(DRAWS);
                // Six standard deviations and one draw: a false alarm in 10^7 runs. The keys are fixed.
                let allowed = 6.0 * (probability / f64::from(DRAWS)).sqrt() + 1.0 / f64::from(DRAWS);
                assert!((frequency - probability).abs() < allowed, "{counts:?} {sequence:?}");
            }
            assert!(seen.is_empty(), "sequences that cannot be: {seen:?}");
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let key = ReleaseKey::insecure_test([0; 32]);
        assert!(joint_by_matrix(&[1 << 62, 0, 0, 0], 2, 1.0, &key).is_err());
        assert!(joint_by_matrix(&[1, 2], 3, 1.0, &key).is_err());
    }
}
