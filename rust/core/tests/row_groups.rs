//! A file whose last row group is read in parts: no row is lost.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dpsel_core::task::{Request, SelectRequest, select_partitions};
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// Rows of a group: enough for two parts of the last one.
const GROUP: i64 = 140_000;
const GROUPS: i64 = 6;

/// Each user has two rows. Each group has its own items. A lost row would change their weights.
fn write(path: &Path) {
    let rows = GROUP * GROUPS;
    let users = Int64Array::from_iter_values((0..rows).map(|row| row / 2));
    let items = Int64Array::from_iter_values((0..rows).map(|row| row / GROUP * 1000 + row % 500));
    let columns = [("user", Arc::new(users) as ArrayRef), ("item", Arc::new(items))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let group = usize::try_from(GROUP).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(20_000)
        .set_write_batch_size(1000)
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn request() -> SelectRequest {
    Request::from_json(
        r#"{"task": "select", "columns": {"user": "user", "items": ["item"]},
            "privacy": {"kind": "zcdp", "rho": 1000.0, "delta": 1e-5}, "max_items_per_user": 10,
            "mechanism": {"name": "weighted_gaussian"}, "with_weights": true}"#,
    )
    .and_then(Request::into_select)
    .unwrap()
}

#[test]
fn no_row_is_lost_whatever_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groups.parquet");
    write(&path);
    let release = |threads| {
        let control = Control::new(NonZeroUsize::new(threads), None);
        let source = Source::Files(vec![path.clone()], None);
        let key = ReleaseKey::insecure_test([9; 32]);
        select_partitions(source, &request(), &key, &control).unwrap().items
    };
    // One thread reads every group as a whole, more read the last one in two parts.
    let whole = release(1);
    assert_eq!(whole.num_rows(), 500 * usize::try_from(GROUPS).unwrap());
    for threads in [2, 3] {
        assert_eq!(release(threads), whole);
    }
}
