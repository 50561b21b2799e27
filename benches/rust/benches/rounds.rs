//! Weighting and deciding: the rounds of a mechanism on rows that are bounded already.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use divan::counter::ItemsCount;
use dpsel_bench::{Kind, Order, THREADS, Table, USERS, control, key, request};
use dpsel_core::bounding::BoundedContributions;
use dpsel_core::mechanisms::{MechanismSpec, PolicyGaussian, ReleaseStep, Sips, WeightedGaussian};
use dpsel_core::rounds::{Calibration, Lowered, Rule, run_rounds};
use dpsel_core::threshold::Noisy;
use dpsel_exact::noise::Threshold;

fn main() {
    divan::main();
}

fn calibrate(mechanism: &MechanismSpec) -> Calibration {
    let request = request().unwrap();
    mechanism.as_mechanism().calibrate(request.privacy, request.max_items_per_user).unwrap()
}

fn run<const THREADS: usize>(bencher: divan::Bencher, calibration: &Calibration) {
    let table = Table::new(USERS, Kind::Integer, Order::Grouped).unwrap();
    let (control, key) = (control(THREADS), key());
    let bound = request().unwrap().max_items_per_user;
    bencher
        .counter(ItemsCount::new(table.rows()))
        .with_inputs(|| {
            BoundedContributions::new(table.contributions(&control).unwrap(), bound, &key, &control).unwrap()
        })
        .bench_local_values(|rows| {
            run_rounds(rows, calibration, (false, Lowered::NOT), &key, &control).unwrap()
        });
}

/// One round that releases nothing: the weights, and a quick refusal of every item.
#[divan::bench(consts = THREADS, sample_count = 20)]
fn weigh<const THREADS: usize>(bencher: divan::Bencher) {
    let mut calibration = calibrate(&MechanismSpec::WeightedGaussian(WeightedGaussian::default()));
    let rule = calibration.rounds[0].rule.noisy().unwrap();
    calibration.rounds[0].rule =
        Rule::Noisy(Noisy { threshold: Threshold::from_steps(i64::MAX / 2), ..rule });
    run::<THREADS>(bencher, &calibration);
}

#[divan::bench(consts = THREADS, sample_count = 20)]
fn weighted_gaussian<const THREADS: usize>(bencher: divan::Bencher) {
    run::<THREADS>(bencher, &calibrate(&MechanismSpec::WeightedGaussian(WeightedGaussian::default())));
}

/// One user after the other: threads do not help.
#[divan::bench(consts = [1], sample_count = 20)]
fn policy_gaussian<const THREADS: usize>(bencher: divan::Bencher) {
    let policy = PolicyGaussian { alpha: 5.0, passes: 1, release: ReleaseStep::Noise };
    run::<THREADS>(bencher, &calibrate(&MechanismSpec::PolicyGaussian(policy)));
}

#[divan::bench(consts = THREADS, sample_count = 20)]
fn sips<const THREADS: usize>(bencher: divan::Bencher) {
    run::<THREADS>(bencher, &calibrate(&MechanismSpec::Sips(Sips::default())));
}
