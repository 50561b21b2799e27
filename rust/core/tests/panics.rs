//! Panics that are caught print nothing. A process of its own: the hook belongs to the whole process.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use dpsel_core::task::Request;
use dpsel_core::task::select_partitions;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use dpsel_rows::runtime::panics::caught;

/// One batch, large enough for several threads, and then a panic.
struct Panicking {
    batch: Option<RecordBatch>,
    schema: SchemaRef,
}

impl Panicking {
    fn new() -> Self {
        let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
        let batch = RecordBatch::try_from_iter([("user", Arc::clone(&rows)), ("item", rows)]).unwrap();
        Self { schema: batch.schema(), batch: Some(batch) }
    }
}

impl Iterator for Panicking {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        assert!(self.batch.is_some(), "secret");
        self.batch.take().map(Ok)
    }
}

impl RecordBatchReader for Panicking {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn select() -> dpsel_exact::Result<()> {
    let request = Request::from_json(
        r#"{"task": "select", "columns": {"user": "user", "items": ["item"]}, "privacy": {"kind": "zcdp", "rho": 1.0, "delta": 1e-5},
            "max_items_per_user": 10, "mechanism": {"name": "weighted_gaussian"}, "with_weights": false}"#,
    )
    .and_then(Request::into_select)
    .unwrap();
    let control = Control::new(std::num::NonZeroUsize::new(2), None);
    let source = Source::Stream(Box::new(Panicking::new()));
    select_partitions(source, &request, &ReleaseKey::insecure_test([1; 32]), &control).map(drop)
}

#[test]
fn only_panics_that_nobody_catches_here_reach_the_hook_before() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    panic::set_hook(Box::new(|_| {
        SEEN.fetch_add(1, Ordering::Relaxed);
    }));
    let seen = || SEEN.load(Ordering::Relaxed);

    assert_eq!(caught(|| 1), Some(1));
    assert_eq!(caught(|| panic!("secret")), None::<()>);
    assert_eq!(caught(|| caught(|| panic!("secret")).is_none()), Some(true));
    let after = caught(|| {
        caught(|| ());
        panic!("secret")
    });
    assert_eq!(after, None::<()>);
    assert!(matches!(select(), Err(dpsel_exact::Error::Internal(_))));
    assert_eq!(seen(), 0);

    assert!(panic::catch_unwind(|| panic!("another's")).is_err());
    assert_eq!(seen(), 1);
    assert!(std::thread::spawn(|| panic!("another's")).join().is_err());
    assert_eq!(seen(), 2);
}
