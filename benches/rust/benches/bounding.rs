//! Bounding each user by the smallest pseudorandom priorities.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::counter::ItemsCount;
use dpsel_bench::{Kind, Order, THREADS, Table, USERS, control, key};
use dpsel_core::bounding::BoundedContributions;
use dpsel_exact::accounting::L0Bound;

fn main() {
    divan::main();
}

/// A bound of 10,000 keeps every row, 100 cuts one user in twenty, 1 cuts all.
#[divan::bench(args = [1, 100, 10_000], consts = THREADS, sample_count = 20)]
fn bound<const THREADS: usize>(bencher: divan::Bencher, items: u64) {
    let table = Table::new(USERS, Kind::Integer, Order::Grouped).unwrap();
    let control = control(THREADS);
    bencher
        .counter(ItemsCount::new(table.rows()))
        .with_inputs(|| table.contributions(&control).unwrap())
        .bench_local_values(|rows| {
            BoundedContributions::new(rows, L0Bound::new(items).unwrap(), &key(), &control).unwrap()
        });
}
