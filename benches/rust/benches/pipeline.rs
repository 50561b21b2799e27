//! The whole job on a table in memory, and what it costs when there are three rows.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::counter::ItemsCount;
use dpsel_bench::{Kind, Order, TABLES, THREADS, Table, USERS, control, key, request};
use dpsel_core::task::select_partitions;

fn main() {
    divan::main();
}

#[divan::bench(args = TABLES, consts = THREADS, sample_count = 10)]
fn sips<const THREADS: usize>(bencher: divan::Bencher, (kind, order): (Kind, Order)) {
    let table = Table::new(USERS, kind, order).unwrap();
    let (request, key) = (request().unwrap(), key());
    bencher
        .counter(ItemsCount::new(table.rows()))
        .bench_local(|| select_partitions(table.source(), &request, &key, &control(THREADS)).unwrap());
}

#[divan::bench]
fn one_user(bencher: divan::Bencher) {
    let table = Table::new(1, Kind::Integer, Order::Grouped).unwrap();
    let (request, key) = (request().unwrap(), key());
    bencher.bench_local(|| select_partitions(table.source(), &request, &key, &control(2)).unwrap());
}
