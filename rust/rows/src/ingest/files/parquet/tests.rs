//! How many rows a footer promises, and the parts of row groups.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::*;

/// What is known of a file with these items, written in groups of two rows.
fn known(items: ArrayRef, statistics: EnabledStatistics) -> u64 {
    let users: ArrayRef = Arc::new(Int64Array::from_iter_values((0..).take(items.len())));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("user", users, false), ("item", items, true)]).unwrap();
    let properties = WriterProperties::builder()
        .set_statistics_enabled(statistics)
        .set_max_row_group_row_count(Some(2))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let footer = ArrowReaderMetadata::load(&Bytes::from(file), ArrowReaderOptions::new()).unwrap();
    let groups = footer.metadata().row_groups().iter();
    groups.map(|group| rows_held(group, &ProjectionMask::all())).sum()
}

#[test]
fn rows_without_an_item_do_not_count() {
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None, None, Some(2), Some(3), None]));
    assert_eq!(known(Arc::clone(&nulls), EnabledStatistics::Chunk), 3);
    // Without statistics nothing is known of a column that may have nulls.
    assert_eq!(known(nulls, EnabledStatistics::None), 0);
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), Some(2), Some(3)]),
        Some(vec![]),
        None,
        Some(vec![None, Some(4)]),
    ]);
    // A row counts once, however many items it has.
    assert_eq!(known(Arc::new(lists), EnabledStatistics::Chunk), 3);
}

#[test]
fn only_the_last_row_group_of_many_is_read_in_small_parts() {
    let rows = 1_000_000;
    assert_eq!([5, 2, 1].map(|left| pieces(rows, left, 20, 2)), [1, 1, 4]);
    // Few groups, few rows, one thread.
    assert_eq!([pieces(rows, 1, 3, 2), pieces(LAST_PART - 1, 1, 20, 2), pieces(rows, 1, 20, 1)], [1; 3]);
    assert_eq!([pieces(3 * LAST_PART, 1, 20, 2), pieces(rows, 1, 200, 50)], [3, 15]);
    // Large groups are divided in any case.
    assert_eq!([pieces(8 * PART, 2, 2, 2), pieces(8 * PART, 1, 20, 2)], [8; 2]);
}

#[test]
fn every_row_is_in_one_part() {
    for rows in [0, 1, 7, 1_000_003] {
        for pieces in 1..9 {
            let ranges = (0..pieces).map(|piece| range(rows, piece, pieces));
            let end = ranges.fold(0, |end, range| {
                assert_eq!(range.start, end);
                range.end
            });
            assert_eq!(end, rows);
        }
    }
}
