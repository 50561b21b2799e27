//! The counts in a range of values, tabulated by segment of the input: how many have at least a value, and where the
//! n-th one with a value is, without a sort.

use dpsel_exact::numeric::widths::{codes, index};

/// The least length of a segment.
const LEAST_SEGMENT: usize = if cfg!(any(test, feature = "testing")) { 3 } else { 1 << 12 };
/// The largest number of segments.
const SEGMENTS: usize = 1 << 10;
/// The number of counts that are compared at once.
const BLOCK: usize = 64;
/// Counts that are sorted out at once.
const KEPT: usize = 1 << 10;

/// A table of the counts from a ceiling downwards.
#[derive(Debug)]
pub(in crate::top_k) struct Window {
    ceiling: i64,
    segment: usize,
    columns: usize,
    /// A row for each segment. Column 0 has the number of counts above the ceiling, column x + 1 the number of
    /// counts equal to the ceiling less x, and the last column the number of all others.
    table: Vec<u32>,
    /// Item x: how many counts are at least the ceiling less x.
    cumulative: Vec<u64>,
}

impl Window {
    /// The counts from `ceiling` down to `ceiling` - `depth`, or to `least`, the smallest of all, if that is not below.
    /// Takes no more memory than the counts, or than slightly more than `depth` numbers.
    pub(in crate::top_k) fn new(counts: &[i64], ceiling: i64, least: i64, depth: usize) -> Self {
        let reach = index(ceiling.abs_diff(least));
        // The last column counts the rest, which needs no lookup: the smallest counts, often most of all.
        let tabulated = reach.min(depth + 1);
        let columns = tabulated + 2;
        // Half of the columns at least, so that the table is not larger than the counts.
        let segment = LEAST_SEGMENT.max(columns / 2).max(counts.len() / SEGMENTS).min(u32::MAX as usize);
        let mut table = vec![0; counts.len().div_ceil(segment) * columns];
        for (counts, row) in counts.chunks(segment).zip(table.chunks_mut(columns)) {
            tabulate(counts, ceiling, row);
        }
        let mut cumulative = cumulative(&table, columns);
        // The last column has counts of one value only if that is the smallest one.
        cumulative.truncate(if reach == tabulated { tabulated + 1 } else { tabulated });
        Self { ceiling, segment, columns, table, cumulative }
    }

    /// Item x: how many counts are at least the ceiling less x.
    pub(in crate::top_k) fn cumulative(&self) -> &[u64] {
        &self.cumulative
    }

    /// By how much the count at a rank is below the ceiling, if it is within the window.
    fn below(&self, rank: u64) -> Option<usize> {
        let below = self.cumulative.partition_point(|n| *n <= rank);
        (below < self.cumulative.len()).then_some(below)
    }

    /// The count at a rank that is not above the ceiling, if it is within the window.
    pub(in crate::top_k) fn count_at(&self, rank: u64) -> Option<i64> {
        self.below(rank).and_then(|below| self.ceiling.checked_sub_unsigned(below as u64))
    }

    /// The position of the count of this rank. Equal counts are in order of position. `counts` are the counts of the
    /// table.
    pub(in crate::top_k) fn position(&self, counts: &[i64], rank: u64) -> Option<usize> {
        let below = self.below(rank)?;
        let before = self.cumulative.get(below.wrapping_sub(1)).copied().unwrap_or_else(|| self.above());
        let mut ordinal = rank.checked_sub(before)?;
        let count = self.ceiling - i64::try_from(below).ok()?;
        for (number, row) in self.table.chunks(self.columns).enumerate() {
            let here = u64::from(row[below + 1]);
            if ordinal < here {
                let start = number * self.segment;
                return nth(&counts[start..], count, ordinal).map(|at| start + at);
            }
            ordinal -= here;
        }
        None
    }

    /// How many counts are above the ceiling.
    fn above(&self) -> u64 {
        self.table.chunks(self.columns).map(|row| u64::from(row[0])).sum()
    }
}

/// Count the numbers of a segment in its row.
///
/// Adding to one place again and again waits for itself, so the smallest numbers are sorted out first, without
/// branches.
fn tabulate(numbers: &[i64], ceiling: i64, row: &mut [u32]) {
    let last = row.len() - 1;
    let bottom = ceiling.saturating_sub_unsigned((last - 1) as u64);
    let mut kept = [0; KEPT];
    for block in numbers.chunks(KEPT) {
        let mut len = 0;
        for number in block {
            // Never wraps: at most as many were kept before as there are in the block.
            kept[len % KEPT] = *number;
            len += usize::from(*number > bottom);
        }
        for number in &kept[..len] {
            let below = index(ceiling.abs_diff(*number));
            row[if *number > ceiling { 0 } else { below + 1 }] += 1;
        }
        row[last] += codes(block.len() - len);
    }
}

/// The running sums of the columns over all rows, but for column 0 alone.
fn cumulative(table: &[u32], columns: usize) -> Vec<u64> {
    let mut sums = vec![0_u64; columns];
    for row in table.chunks(columns) {
        for (sum, number) in sums.iter_mut().zip(row) {
            *sum += u64::from(*number);
        }
    }
    let mut running = sums.remove(0);
    for sum in &mut sums {
        running += *sum;
        *sum = running;
    }
    sums
}

/// The position of the n-th number, from 0, that equals `wanted`.
fn nth(numbers: &[i64], wanted: i64, mut n: u64) -> Option<usize> {
    for (block, start) in numbers.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        let here = block.iter().map(|number| u64::from(*number == wanted)).sum::<u64>();
        if n < here {
            let mut alike = block.iter().enumerate().filter(|(_, number)| **number == wanted);
            return alike.nth(usize::try_from(n).ok()?).map(|(at, _)| start + at);
        }
        n -= here;
    }
    None
}
