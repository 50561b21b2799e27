//! Interning: digests of items to dense codes, by the size of the vocabulary.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::counter::ItemsCount;
use dpsel_bench::{Stream, control, key};
use dpsel_exact::random::{Digest, Digester, KeyKind, Purpose};
use dpsel_rows::contributions::{ContributionsBuilder, ItemCode, KeyStore, Payload};

const ROWS: usize = 1 << 20;
const BATCH: usize = 1 << 14;

fn main() {
    divan::main();
}

/// Rows drawn uniformly from a vocabulary: the hard case, since nothing stays in the cache.
fn items(vocabulary: u64) -> Vec<u64> {
    let mut stream = Stream::new(5);
    (0..ROWS).map(|_| stream.word() % vocabulary).collect()
}

fn digests(items: &[u64]) -> Vec<Digest> {
    let mut digests = Vec::with_capacity(items.len());
    let digester = Digester::new(&key(), Purpose::ItemDigest);
    digester.integers(KeyKind::Integer, items.iter().map(|&item| i128::from(item)), &mut digests);
    digests
}

#[divan::bench]
fn digest(bencher: divan::Bencher) {
    let items = items(1 << 40);
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| digests(&items));
}

struct Integers;

impl Payload for Integers {
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

#[divan::bench(args = [1 << 10, 1 << 16, 1 << 20, 1 << 40])]
fn intern(bencher: divan::Bencher, vocabulary: u64) {
    let items = items(vocabulary);
    let digests = digests(&items);
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| {
        let builder = ContributionsBuilder::new(&control(1));
        let mut worker = builder.worker();
        let mut codes: Vec<ItemCode> = Vec::with_capacity(ROWS);
        for digests in digests.chunks(BATCH) {
            worker.intern(digests, &Integers, &mut codes).unwrap();
        }
        codes
    });
}
