//! Stage 1 and 2 together: record batches in, distinct rows grouped by user out.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::counter::ItemsCount;
use dpsel_bench::{Kind, Order, TABLES, THREADS, Table, USERS, control};

fn main() {
    divan::main();
}

#[divan::bench(args = TABLES, consts = THREADS, sample_count = 10)]
fn read<const THREADS: usize>(bencher: divan::Bencher, (kind, order): (Kind, Order)) {
    let table = Table::new(USERS, kind, order).unwrap();
    bencher
        .counter(ItemsCount::new(table.rows()))
        .bench_local(|| table.contributions(&control(THREADS)).unwrap());
}
