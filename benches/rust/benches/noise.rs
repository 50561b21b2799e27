//! The decision of one item: far below the threshold, where nearly all items are, and near it.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::black_box;
use divan::counter::ItemsCount;
use dpsel_bench::Stream;
use dpsel_exact::noise::{Noise, NoisyThreshold, Threshold};
use dpsel_exact::numeric::UNIT;

const ITEMS: usize = 1 << 14;
/// In thousandths of a unit of weight; the threshold is 12 units.
const WEIGHTS: [u64; 4] = [100, 1_000, 6_000, 12_000];
const LAWS: [Noise; 2] = [Noise::Gaussian { sigma: 2.7 }, Noise::Laplace { scale: 1.0 }];

fn main() {
    divan::main();
}

fn decision(law: usize) -> NoisyThreshold {
    NoisyThreshold::new(LAWS[law], Threshold::from_steps(12 << 30))
}

fn words() -> Vec<u128> {
    let mut stream = Stream::new(3);
    (0..ITEMS).map(|_| u128::from(stream.word()) << 64 | u128::from(stream.word())).collect()
}

/// `LAW` is the position in [`LAWS`]: 0 is Gaussian, 1 is Laplace.
#[divan::bench(args = WEIGHTS, consts = [0, 1])]
fn releases<const LAW: usize>(bencher: divan::Bencher, thousandths: u64) {
    let (rule, words, weight) = (decision(LAW), words(), UNIT * thousandths / 1000);
    bencher
        .counter(ItemsCount::new(ITEMS))
        .bench_local(|| words.iter().filter(|&&word| rule.releases(black_box(weight), word)).count());
}

#[divan::bench(consts = [0, 1])]
fn noisy_weight<const LAW: usize>(bencher: divan::Bencher) {
    let (rule, words) = (decision(LAW), words());
    bencher.counter(ItemsCount::new(ITEMS)).bench_local(|| {
        words.iter().fold(0_i64, |sum, &word| sum.wrapping_add(rule.noisy_weight(black_box(UNIT), word)))
    });
}

/// Once per round of many items: the decisions after which the table is made, and making it.
#[divan::bench(consts = [0, 1])]
fn prepare<const LAW: usize>() -> usize {
    let rule = decision(black_box(LAW));
    (0..1024).filter(|&word| rule.releases(black_box(UNIT), word)).count()
}
