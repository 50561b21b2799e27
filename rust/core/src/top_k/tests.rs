//! Every draw against the enumerated law of its mechanism, with and without the shortcuts.
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test arguments are in range")]

mod noise;

use std::collections::BTreeMap;

use dpsel_exact::numeric::SLOW;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};

use super::joint_set::{Sets, set_horizon};
use crate::top_k::draws::discrete_gaussian::{checked_square_rate, gaussian};
use crate::top_k::draws::discrete_laplace::{Radius, laplace, within};
use crate::top_k::draws::loss_levels::LossLevels;
use crate::top_k::draws::peel::{peel, pick_horizon};
use crate::top_k::draws::permute_flip::flip_and_peel;
use crate::top_k::joint::{Sequences, joint_horizon};
use crate::top_k::permute_flip_joint::flip_sequences;
use crate::top_k::ranking::{Counts, RankedCounts};

/// The probability of each outcome.
type Law = BTreeMap<Vec<u64>, f64>;
/// A chi-square statistic is above its mean by this many standard deviations with a probability of about 1e-9 or less.
const DEVIATIONS: f64 = 9.0;
const DRAWS: u32 = 100_000;
const SLOW_DRAWS: u32 = 1_000;

/// Instances of counts in descending order, so that ranks are positions, with k.
const INSTANCES: [(&[i64], usize); 9] = [
    (&[10, 10, 5], 2),
    (&[5, 4, 4, 2, 0], 3),
    (&[3, 3, 3, 3], 2),
    (&[7], 1),
    (&[6, 5, 1, -2], 1),
    (&[4, 3, 1], 3),
    (&[0, 0, 0, 0, 0], 2),
    (&[-1, -1, -4, -9, -9, -30], 2),
    (&[1_000_000, 3, 2, 1, 1], 3),
];

fn coins(number: u8) -> Coins {
    Coins::new(&ReleaseKey::insecure_test([number; 32]), Purpose::TopK, 0)
}

/// Ordered choices of k of the ranks.
fn sequences(items: usize, k: usize) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for _ in 0..k {
        all = all
            .into_iter()
            .flat_map(|head: Vec<u64>| {
                let left = (0..items as u64).filter(|i| !head.contains(i)).collect::<Vec<_>>();
                left.into_iter().map(move |i| [head.clone(), vec![i]].concat())
            })
            .collect();
    }
    all
}

fn normalised(weights: impl Iterator<Item = (Vec<u64>, f64)>) -> Law {
    let mut law = Law::new();
    for (outcome, weight) in weights {
        *law.entry(outcome).or_default() += weight;
    }
    let sum: f64 = law.values().sum();
    law.into_iter().map(|(outcome, weight)| (outcome, weight / sum)).collect()
}

fn joint_law(counts: &[i64], k: usize, rate: f64) -> Law {
    let loss = |s: &[u64]| s.iter().enumerate().map(|(i, r)| counts[i] - counts[*r as usize]).max().unwrap();
    normalised(sequences(counts.len(), k).into_iter().map(|s| (s.clone(), (-rate * loss(&s) as f64).exp())))
}

fn set_law(counts: &[i64], k: usize, rate: f64) -> Law {
    let sets = sequences(counts.len(), k).into_iter().filter(|s| s.is_sorted());
    let gap = |s: &[u64]| {
        let out = (0..counts.len()).filter(|i| !s.contains(&(*i as u64))).map(|i| counts[i]).max();
        let least = s.iter().map(|r| counts[*r as usize]).min().unwrap();
        out.map_or(0, |out| (out - least).max(0))
    };
    normalised(sets.map(|s| (s.clone(), (-rate * gap(&s) as f64).exp())))
}

/// The law of peeling with a law of one pick.
fn peel_law(counts: &[i64], k: usize, pick: impl Fn(&[i64]) -> Vec<f64>) -> Law {
    let probability = |s: &Vec<u64>| {
        let mut left: Vec<u64> = (0..counts.len() as u64).collect();
        let mut probability = 1.0;
        for rank in s {
            let law = pick(&left.iter().map(|r| counts[*r as usize]).collect::<Vec<_>>());
            let at = left.iter().position(|r| r == rank).unwrap();
            probability *= law[at];
            left.remove(at);
        }
        probability
    };
    normalised(sequences(counts.len(), k).into_iter().map(|s| (s.clone(), probability(&s))))
}

fn exponential(counts: &[i64], rate: f64) -> Vec<f64> {
    let best = *counts.iter().max().unwrap();
    let weights: Vec<f64> = counts.iter().map(|c| (-rate * (best - c) as f64).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// Over all outcomes of the coins, the answer is uniform among the heads.
fn permute_and_flip(counts: &[i64], rate: f64) -> Vec<f64> {
    let best = *counts.iter().max().unwrap();
    let biases: Vec<f64> = counts.iter().map(|c| (-rate * (best - c) as f64).exp()).collect();
    let mut law = vec![0.0; counts.len()];
    for heads in 1_u32..1 << counts.len() {
        let shows = |i: usize| heads >> i & 1 == 1;
        let probability: f64 =
            biases.iter().enumerate().map(|(i, p)| if shows(i) { *p } else { 1.0 - p }).product();
        for (i, mass) in law.iter_mut().enumerate() {
            if shows(i) {
                *mass += probability / f64::from(heads.count_ones());
            }
        }
    }
    law
}

/// Compare frequencies with a law; cells of small expectation are pooled.
fn assert_law(law: &Law, draws: u32, mut draw: impl FnMut() -> Vec<u64>) {
    let mut seen: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
    for _ in 0..draws {
        *seen.entry(draw()).or_default() += 1;
    }
    assert!(seen.keys().all(|outcome| law.contains_key(outcome)), "an outcome that cannot be");
    let (mut statistic, mut cells, mut pool) = (0.0, 0_u32, (0.0, 0.0));
    let mut add = |expected: f64, observed: f64| {
        statistic += (observed - expected).powi(2) / expected;
        cells += 1;
    };
    for (outcome, probability) in law {
        let (expected, observed) =
            (probability * f64::from(draws), f64::from(*seen.get(outcome).unwrap_or(&0)));
        if expected < 10.0 {
            pool = (pool.0 + expected, pool.1 + observed);
        } else {
            add(expected, observed);
        }
    }
    if pool.0 >= 10.0 {
        add(pool.0, pool.1);
    } else {
        assert!(pool.1 <= 60.0, "rare outcomes are not rare: {pool:?}");
    }
    let freedom = f64::from(cells.max(1) - 1);
    assert!(statistic <= freedom + DEVIATIONS * (2.0 * freedom).sqrt() + 1e-9, "{statistic} for {freedom}");
}

/// Fewer draws where each one cuts its levels anew.
const PEELS: u32 = 20_000;
/// Fewer still where tiny instances need the whole sum of weights.
const FLIPS: u32 = 4_000;

/// The fast way on many draws, and everything in big integers on fewer.
fn assert_both_ways(law: &Law, mut draw: impl FnMut() -> Vec<u64>) {
    assert_law(law, DRAWS, &mut draw);
    assert_slow(law, draw);
}

fn assert_slow(law: &Law, draw: impl FnMut() -> Vec<u64>) {
    SLOW.set(true);
    assert_law(law, SLOW_DRAWS, draw);
    SLOW.set(false);
}

fn ranking(counts: &[i64], k: usize, horizon: u128) -> RankedCounts<'_> {
    RankedCounts::new(Counts { counts, digests: None, unseen: 0 }, k, horizon)
}

#[test]
fn joint_has_the_law_of_the_exponential_mechanism() {
    for (number, (counts, k)) in (0..).zip(INSTANCES) {
        for rate in [0.5, 0.05] {
            let mut coins = coins(number);
            let horizon = joint_horizon(counts.len() as u64, k, rate);
            let ranking = ranking(counts, k, horizon);
            let sequences = Sequences::new(&ranking, rate);
            let levels = LossLevels::new(&sequences);
            assert_both_ways(&joint_law(counts, k, rate), || {
                let level = levels.draw(&mut coins);
                sequences.uniform(level, &mut coins)
            });
        }
    }
}

#[test]
fn sets_have_the_law_of_the_exponential_mechanism() {
    for (number, (counts, k)) in (20..).zip(INSTANCES) {
        for rate in [0.5, 0.05] {
            let mut coins = coins(number);
            let ranking = ranking(counts, k, set_horizon(counts.len() as u64, k, rate));
            let sets = Sets::new(&ranking, rate);
            let levels = LossLevels::new(&sets);
            assert_both_ways(&set_law(counts, k, rate), || {
                let level = levels.draw(&mut coins);
                sets.uniform(level, &mut coins)
            });
        }
    }
}

#[test]
fn peeling_has_the_law_of_repeated_picks() {
    for (number, (counts, k)) in (40..).zip(INSTANCES) {
        let rate = 0.4;
        let mut coins = coins(number);
        let ranking = ranking(counts, k, pick_horizon(counts.len() as u64, rate));
        let law = peel_law(counts, k, |left| exponential(left, rate));
        assert_law(&law, PEELS, || peel(&ranking, k, rate, &mut coins));
        assert_slow(&law, || peel(&ranking, k, rate, &mut coins));
    }
}

#[test]
fn flipping_has_the_law_of_permute_and_flip() {
    for (number, (counts, k)) in (60..).zip(INSTANCES) {
        for rate in [0.4, 2.0] {
            let mut coins = coins(number);
            let ranking = ranking(counts, k, pick_horizon(counts.len() as u64, rate));
            let law = peel_law(counts, k, |left| permute_and_flip(left, rate));
            assert_law(&law, PEELS, || flip_and_peel(&ranking, k, rate, &mut coins));
            assert_slow(&law, || flip_and_peel(&ranking, k, rate, &mut coins));
        }
    }
}

/// Uniform among the sequences whose coins show heads.
fn flip_joint_law(counts: &[i64], k: usize, rate: f64) -> Law {
    let biases: Vec<(Vec<u64>, f64)> = joint_law(counts, k, rate).into_iter().collect();
    let most = biases.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let probability = |sequence: &[u64]| {
        // Item h: the probability that h of the other coins show heads.
        let mut heads = vec![1.0];
        for (_, weight) in biases.iter().filter(|(other, _)| other != sequence) {
            let bias = weight / most;
            heads.push(0.0);
            for h in (0..heads.len()).rev() {
                heads[h] = heads[h] * (1.0 - bias) + if h > 0 { heads[h - 1] * bias } else { 0.0 };
            }
        }
        heads.iter().enumerate().map(|(h, p)| p / (h as f64 + 1.0)).sum::<f64>()
    };
    let law =
        biases.iter().map(|(sequence, weight)| (sequence.clone(), weight / most * probability(sequence)));
    let law: Law = law.collect();
    assert!((law.values().sum::<f64>() - 1.0).abs() < 1e-9, "some coin always shows heads");
    law
}

#[test]
fn flipping_sequences_has_the_law_of_permute_and_flip() {
    for (number, (counts, k)) in (100..).zip(INSTANCES) {
        for rate in [0.5, 2.0] {
            let mut coins = coins(number);
            let ranking = ranking(counts, k, joint_horizon(counts.len() as u64, k, rate));
            let sequences = Sequences::new(&ranking, rate);
            let law = flip_joint_law(counts, k, rate);
            assert_law(&law, FLIPS, || flip_sequences(&sequences, &mut coins));
            assert_slow(&law, || flip_sequences(&sequences, &mut coins));
        }
    }
}

/// If it could, [0] would have a probability of 0.63 instead of 0.65.
#[test]
fn a_refused_sequence_never_comes_back() {
    let (counts, rate) = ([1, 0], 0.35);
    let mut coins = coins(120);
    let ranking = ranking(&counts, 1, joint_horizon(2, 1, rate));
    let sequences = Sequences::new(&ranking, rate);
    assert_law(&flip_joint_law(&counts, 1, rate), 10 * FLIPS, || flip_sequences(&sequences, &mut coins));
}

/// Nothing lies within a horizon of one level, so that the tail and the sort of all counts are used.
#[test]
fn draws_beyond_the_horizon_have_the_same_law() {
    struct Near<'a>(Sequences<'a>);
    impl crate::top_k::draws::loss_levels::LevelLaw for Near<'_> {
        fn rate(&self) -> f64 {
            self.0.rate()
        }
        fn size(&self, level: u128) -> dpsel_exact::numeric::Scaled {
            self.0.size(level)
        }
        fn exact_size(&self, level: u128) -> num_bigint::BigUint {
            self.0.exact_size(level)
        }
        fn horizon(&self) -> u128 {
            0
        }
        fn tail(&self, first: u128) -> (dpsel_exact::numeric::Scaled, u128) {
            self.0.tail(first)
        }
    }
    for (number, (counts, k)) in (80..).zip(INSTANCES) {
        let (mut coins, rate) = (coins(number), 0.3);
        let ranking = ranking(counts, k, 0);
        let near = Near(Sequences::new(&ranking, rate));
        let levels = LossLevels::new(&near);
        assert_both_ways(&joint_law(counts, k, rate), || {
            let level = levels.draw(&mut coins);
            near.0.uniform(level, &mut coins)
        });
    }
}

/// Golden values of the paper's mechanism: counts (10, 10, 5), k = 2, epsilon = 1.
#[test]
fn golden_values() {
    use crate::top_k::draws::loss_levels::LevelLaw;
    let best = joint_law(&[10, 10, 5], 2, 0.5)[&vec![0, 1]];
    assert!((best - 0.429_490_539_3).abs() < 1e-10);
    let ranking = ranking(&[10, 10, 5], 2, 100);
    let sequences = Sequences::new(&ranking, 0.5);
    let flipped = flip_joint_law(&[10, 10, 5], 2, 0.5)[&vec![0, 1]];
    assert!((2.0 * flipped - 0.8971).abs() < 5e-5, "{flipped}");
    let sizes: Vec<num_bigint::BigUint> = (0..8).map(|level| sequences.exact_size(level)).collect();
    assert_eq!(sizes, [2_u32, 2, 2, 2, 2, 6, 6, 6].map(num_bigint::BigUint::from));
    let sets = set_law(&[3, 2, 1], 2, 0.5);
    assert!((sets[&vec![0, 2]] / sets[&vec![0, 1]] - (-0.5_f64).exp()).abs() < 1e-12);
    assert!((sets[&vec![1, 2]] / sets[&vec![0, 1]] - (-1.0_f64).exp()).abs() < 1e-12);
}
