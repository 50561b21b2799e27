//! Fuzz targets: functions of bytes that panic when a promise of the library is broken.
//!
//! A target neither knows nor cares who calls it. `src/bin/search.rs` is the coverage-guided search (`nox -s fuzz`),
//! and `tests/replay.rs`, one of the ordinary tests, runs every kept input and some seconds of blind changes of them.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a target says what it found by panicking"
)]

mod curves;
mod files;
mod keys;
mod mutate;
mod reports;

pub use mutate::mutated;

/// A target and what calls it.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its folder under `corpus/` and `findings/`.
    pub name: &'static str,
    /// Panics if the bytes break a promise.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 7] = [
    Target { name: "parquet", run: files::parquet },
    Target { name: "ipc", run: files::ipc },
    Target { name: "csv", run: files::csv },
    Target { name: "ndjson", run: files::ndjson },
    Target { name: "keys", run: keys::agree },
    Target { name: "curves", run: curves::valid },
    Target { name: "reports", run: reports::checked },
];
