//! The workload of `benches.data` in a stream: the same law, other draws.
//!
//! One file of 1,966,080 users beside that of numpy (`benches.data.drawn`):
//!
//! | | numpy | here |
//! |---|---|---|
//! | rows | 72,070,131 | 71,835,848 |
//! | distinct items | 17,350,854 (0.2407 a row) | 17,284,897 (0.2406) |
//! | items of one user | 87.77 % | 87.78 % |
//! | items of 2, 3, 4 to 9, 10 and more users, in thousands | 964, 351, 507, 299 | 959, 349, 505, 299 |
//! | users of the items of rank 1, 10, 100, 10^3, 10^4, 10^5 | 1627842, 424489, 48654, 4661, 380, 31 | 1627213, 424487, 48759, 4637, 379, 31 |
//! | rows of a user: 1 %, 25 %, half, 75 %, 90 %, 99 % | 8, 11, 16, 28, 57, 341 | 8, 11, 16, 28, 57, 336 |
//! | bytes a row | 2.93 | 2.43 |
//! | processor seconds | 22 | 11 |
//!
//! A user draws the length of its list from a Pareto law and each entry from a zeta law, as numpy draws it. Equal
//! entries of a user are dropped and the others sorted, so rows stand as `benches.data.drawn` puts them.

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::Stream;

const SEED: u64 = 20_230_101;
/// Users that share a stream of random words, and a record batch.
pub const USERS_PER_STREAM: u64 = 1 << 12;
const ROW_GROUP: usize = 1_000_000;
/// The zeta law's parameter less one.
const ZETA: f64 = 0.1;
const LARGEST_DRAW: f64 = i64::MAX as f64;
const LARGEST_ITEM: i64 = 1 << 40;

/// Writes the rows of consecutive users to a Parquet file, and says how many there are.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, first_user: u64, users: u64) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("user", DataType::Int64, false),
        Field::new("item", DataType::Int64, false),
    ]));
    let mut writer = ArrowWriter::try_new(File::create(path)?, Arc::clone(&schema), Some(properties()?))?;
    let mut written = 0;
    for first in (first_user..first_user + users).step_by(usize::try_from(USERS_PER_STREAM)?) {
        let (owners, items) = rows(first, USERS_PER_STREAM.min(first_user + users - first));
        written += items.len() as u64;
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(owners)), Arc::new(Int64Array::from(items))];
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
    }
    writer.close()?;
    Ok(written)
}

/// Users repeat, so they have a dictionary; sorted items share their leading bytes, which stand together here.
fn properties() -> Result<WriterProperties, Box<dyn Error + Send + Sync>> {
    let item = ColumnPath::from("item");
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_column_dictionary_enabled(item.clone(), false)
        .set_column_encoding(item, Encoding::BYTE_STREAM_SPLIT)
        .build())
}

/// Distinct (user, item) rows of the users of one stream, in order.
fn rows(first_user: u64, users: u64) -> (Vec<i64>, Vec<i64>) {
    let mut stream = Stream::new(Stream::new(SEED.wrapping_add(first_user)).word());
    let (mut owners, mut items, mut list) = (Vec::new(), Vec::new(), Vec::new());
    for user in (0_i64..)
        .skip(usize::try_from(first_user).unwrap_or(usize::MAX))
        .take(usize::try_from(users).unwrap_or(0))
    {
        list.clear();
        list.extend((0..stream.pareto(10.0, 1.16, 1e4)).map(|_| zeta(&mut stream)));
        list.sort_unstable();
        list.dedup();
        items.extend_from_slice(&list);
        owners.resize(items.len(), user);
    }
    (owners, items)
}

/// P[X = x] proportional to x^-1.1 up to the largest draw; what is above the largest item becomes it.
///
/// Devroye's rejection from the law of floor(U^-10), with numpy's formulas and so numpy's rounding.
#[expect(clippy::cast_possible_truncation, reason = "at most the largest draw")]
fn zeta(stream: &mut Stream) -> i64 {
    let least = LARGEST_DRAW.powf(-ZETA);
    let scale = 2_f64.powf(ZETA);
    loop {
        let uniform = least + (1.0 - least) * stream.fraction();
        let power = uniform * uniform * uniform * uniform * uniform;
        let drawn = (1.0 / (power * power)).floor();
        let ratio = (1.0 + 1.0 / drawn).powf(ZETA);
        if stream.fraction() * drawn * (ratio - 1.0) / (scale - 1.0) <= ratio / scale {
            return (drawn as i64).min(LARGEST_ITEM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a share of draws is as probable as it should be, within five standard deviations.
    fn is_near(hits: usize, draws: usize, expected: f64) -> bool {
        let (draws, hits) = (draws as f64, hits as f64);
        (hits - draws * expected).abs() < 5.0 * (draws * expected * (1.0 - expected)).sqrt()
    }

    #[test]
    fn entries_have_the_zeta_law() {
        let mut stream = Stream::new(3);
        let drawn: Vec<i64> = (0..200_000).map(|_| zeta(&mut stream)).collect();
        // The sum of x^-1.1 over all x is 10.5844; 10 (2^63)^-0.1 = 0.1269 of it are above the largest draw.
        let whole = 10.5844 - 0.1269;
        for (item, weight) in [(1, 1.0), (2, 2_f64.powf(-1.1)), (10, 10_f64.powf(-1.1))] {
            let hits = drawn.iter().filter(|drawn| **drawn == item).count();
            assert!(is_near(hits, drawn.len(), weight / whole), "{item}: {hits}");
        }
        // Beyond 1e16 the draws of numpy, and so these, are too frequent: 1 + 1/x is 1 there. They become the largest item.
        let large = drawn.iter().filter(|drawn| (1_000_000..LARGEST_ITEM).contains(*drawn)).count();
        let expected = 10.0 * (1e6_f64.powf(-0.1) - (LARGEST_ITEM as f64).powf(-0.1)) / whole;
        assert!(is_near(large, drawn.len(), expected), "{large}");
        assert!(drawn.iter().all(|drawn| (1..=LARGEST_ITEM).contains(drawn)));
    }

    #[test]
    fn rows_are_distinct_in_order_and_those_of_their_users() {
        let (owners, items) = rows(USERS_PER_STREAM, 100);
        let all: Vec<_> = owners.into_iter().zip(items).collect();
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
        let mut users: Vec<_> = all.iter().map(|row| row.0).collect();
        users.dedup();
        assert_eq!(users, (4096..4196).collect::<Vec<_>>());
        assert_eq!(rows(USERS_PER_STREAM, 100).1, all.iter().map(|row| row.1).collect::<Vec<_>>());
        assert_ne!(rows(0, 100).1, rows(USERS_PER_STREAM, 100).1);
    }
}
