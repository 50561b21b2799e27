//! What the micro-benches share: skewed rows in memory, and a request.
//!
//! Run them with `cargo bench -p dpsel-bench`, one stage with `cargo bench -p dpsel-bench --bench bounding`.
//! Whole jobs from files, beside other libraries, are compared by `python -m benches.compare`.

pub mod joint_by_matrix;
pub mod large_table;

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ArrowError;
use dpsel_core::mechanisms::{MechanismSpec, Sips};
use dpsel_core::task::SelectRequest;
use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{self, Contributions};
use dpsel_rows::ingest::{Columns, Source};
use dpsel_rows::runtime::Control;

/// Rows per record batch.
const BATCH: usize = 1 << 16;
/// Users of the benches that take whole tables: about 1.8 million rows.
pub const USERS: usize = 50_000;
/// Thread counts to compare.
pub const THREADS: [usize; 2] = [1, 2];

/// A reproducible stream of words (`SplitMix64`); for making inputs only.
#[derive(Debug, Clone)]
pub struct Stream(u64);

impl Stream {
    /// A stream that depends on the number alone.
    #[must_use]
    pub fn new(start: u64) -> Self {
        Self(start)
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    pub fn fraction(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// P[X >= x] = (minimum / x)^shape for x up to the cap, rounded down.
    #[expect(clippy::cast_possible_truncation, reason = "the cap is far below 2^63")]
    fn pareto(&mut self, minimum: f64, shape: f64, cap: f64) -> i64 {
        (minimum * self.fraction().powf(-1.0 / shape)).min(cap) as i64
    }
}

/// The type of the item column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integers.
    Integer,
    /// Short strings.
    Text,
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A user's rows stand together.
    Grouped,
    /// All rows are shuffled.
    Random,
}

/// Every kind and order of table.
pub const TABLES: [(Kind, Order); 4] = [
    (Kind::Integer, Order::Grouped),
    (Kind::Integer, Order::Random),
    (Kind::Text, Order::Grouped),
    (Kind::Text, Order::Random),
];

/// A table as record batches, like the DP-SIPS paper's: user degrees and item popularity are both power laws.
#[derive(Debug, Clone)]
pub struct Table {
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl Table {
    /// Rows of this many users.
    ///
    /// # Errors
    /// None: the columns fit each other.
    pub fn new(users: usize, kind: Kind, order: Order) -> Result<Self, ArrowError> {
        let rows = rows(users, order);
        let batches = rows.chunks(BATCH).map(|rows| batch(rows, kind)).collect::<Result<_, _>>()?;
        Ok(Self { batches, rows: rows.len() })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The table as a stream, without a copy.
    #[must_use]
    pub fn source(&self) -> Source {
        let schema = self.batches[0].schema();
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        Source::Stream(Box::new(RecordBatchIterator::new(batches, schema)))
    }

    /// The table read and grouped by user.
    ///
    /// # Errors
    /// As [`contributions::read`].
    pub fn contributions(&self, control: &Control) -> dpsel_exact::Result<Contributions> {
        contributions::read(self.source(), &columns(), None, &key(), control)
    }
}

fn rows(users: usize, order: Order) -> Vec<(i64, i64)> {
    let mut stream = Stream::new(11);
    let mut rows = Vec::new();
    for user in (0_i64..).take(users) {
        for _ in 0..stream.pareto(10.0, 1.16, 1e4) {
            rows.push((user, stream.pareto(1.0, 0.1, (1_u64 << 40) as f64)));
        }
    }
    if order == Order::Random {
        rows.sort_by_cached_key(|_| stream.word());
    }
    rows
}

fn batch(rows: &[(i64, i64)], kind: Kind) -> Result<RecordBatch, ArrowError> {
    let users: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let items: ArrayRef = match kind {
        Kind::Integer => Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>()),
        Kind::Text => {
            Arc::new(rows.iter().map(|row| Some(format!("{:04x}", row.1))).collect::<StringArray>())
        }
    };
    RecordBatch::try_from_iter([("user", users), ("item", items)])
}

/// Threads as a bench argument: at least one.
#[must_use]
pub fn control(threads: usize) -> Control {
    Control::new(NonZeroUsize::new(threads), None)
}

/// A fixed key: every run does the same work.
#[must_use]
pub fn key() -> ReleaseKey {
    ReleaseKey::insecure_test([1; 32])
}

/// The columns of [`Table`].
#[must_use]
pub fn columns() -> Columns {
    Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels: None }
}

/// At most 100 items per user.
///
/// # Errors
/// None: 100 is in range.
pub fn bound() -> dpsel_exact::Result<L0Bound> {
    L0Bound::new(100)
}

/// The DP-SIPS paper's job: 3 rounds at rho = 0.1, delta = 1e-5.
///
/// # Errors
/// None: the parameters are in range.
pub fn request() -> dpsel_exact::Result<SelectRequest> {
    Ok(SelectRequest {
        columns: columns(),
        privacy: Privacy::Zcdp { rho: 0.1, delta: 1e-5 },
        max_items_per_user: bound()?,
        mechanism: MechanismSpec::Sips(Sips::default()),
        with_weights: false,
        quantile: None,
        counts: None,
        rest: None,
        min_users: 1,
        exclude: None,
        public_items: None,
        excluded: None,
        public: None,
        prior: None,
    })
}
