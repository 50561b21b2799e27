//! The release decision of one round.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::decision_table::DecisionTable;
use super::law::Law;
use super::quantile::Quantiles;
use super::{Noise, Threshold};
use crate::numeric::widths::clipped;

/// "weight + noise >= threshold", decided exactly from one pseudorandom word per item.
///
/// Nearly every decision is one table look-up and one comparison. The others compare the word with a certified `f64`
/// enclosure of the probability, and the few that stay open with an enclosure of any precision. All three give the
/// same answer. A noise whose scale is not positive and finite releases nothing.
///
/// The table is made after [`WITHOUT_TABLE`] decisions, which cost about as much as the table.
pub struct NoisyThreshold {
    noise: Noise,
    threshold: Threshold,
    law: Option<Law>,
    table: OnceLock<DecisionTable>,
    /// Decisions made without the table.
    decided: AtomicU32,
    /// Noise drawn without a table, up to [`WITHOUT_TABLE`].
    drawn: AtomicU32,
}

/// Decisions before the table is made.
const WITHOUT_TABLE: u32 = 512;

/// Items that are looked at together.
const TOGETHER: usize = 8;

impl NoisyThreshold {
    /// Prepare the decision of one round.
    #[must_use]
    pub fn new(noise: Noise, threshold: Threshold) -> Self {
        let law = Law::new(noise);
        Self {
            noise,
            threshold,
            law,
            table: OnceLock::new(),
            decided: AtomicU32::new(0),
            drawn: AtomicU32::new(0),
        }
    }

    /// Whether an item of this weight (grid steps) is released.
    ///
    /// # Contract
    /// For a uniform `word` this is true with probability P[N >= threshold - weight], up to a certified slack
    /// of 2^-127 by which it may be smaller, never larger. It is monotone: true for a weight implies true for
    /// larger ones, true for a word implies true for smaller ones. Proof: `docs/algorithms/noise.md`.
    #[inline]
    #[must_use]
    pub fn releases(&self, weight: u64, word: u128) -> bool {
        match self.table.get() {
            Some(table) => {
                table.decide(weight, word).unwrap_or_else(|| self.releases_outside_table(weight, word))
            }
            None => self.releases_without_table(weight, word),
        }
    }

    /// The positions of the items that are released, each with its weight and its word: see [`Self::releases`].
    ///
    /// Releases are rare. So items are looked at several at a time, with one branch for all of them.
    #[inline]
    pub fn each_released(&self, weights: &[u64], words: &[u128], mut released: impl FnMut(usize)) {
        let table = self.table.get();
        let groups = weights.chunks(TOGETHER).zip(words.chunks(TOGETHER));
        for (first, (weights, words)) in (0..).step_by(TOGETHER).zip(groups) {
            let items = weights.iter().zip(words);
            let may_be = table.is_none_or(|table| {
                items.clone().fold(false, |any, (weight, word)| any | table.may_release(*weight, *word))
            });
            if may_be {
                let of_group =
                    items.enumerate().filter(|(_, (weight, word))| self.releases(**weight, **word));
                of_group.for_each(|(at, _)| released(first + at));
            }
        }
    }

    /// weight + N in grid steps, N as determined by `word`; at least the threshold iff
    /// [`NoisyThreshold::releases`].
    ///
    /// A sum outside of `i64` becomes the nearest `i64`. The equivalence still holds then, for every threshold above
    /// `i64::MIN`.
    #[inline]
    #[must_use]
    pub fn noisy_weight(&self, weight: u64, word: u128) -> i64 {
        match self.quick_noise(word).and_then(|noise| noise.checked_add_unsigned(weight)) {
            Some(noisy) => noisy,
            None => self.noisy_weight_outside_tables(weight, word),
        }
    }

    /// Append the noise of each word: [`NoisyThreshold::noisy_weight`] of no weight.
    pub fn append_noises(&self, words: &[u128], noises: &mut Vec<i64>) {
        let drawn = clipped(words.len());
        match self.table_of_noise(drawn) {
            // What does not change is looked up once.
            Some((table, sigma)) => noises.extend(words.iter().map(|word| {
                table.noise(sigma, *word).unwrap_or_else(|| self.noisy_weight_outside_tables(0, *word))
            })),
            None => noises.extend(words.iter().map(|word| self.noisy_weight_outside_tables(0, *word))),
        }
    }

    #[cold]
    fn noisy_weight_outside_tables(&self, weight: u64, word: u128) -> i64 {
        let weight = i128::from(weight);
        let (first, last) = (i128::from(i64::MIN) - weight, i128::from(i64::MAX) - weight);
        // Otherwise: without a law or a sum in range the item reaches no threshold.
        self.law
            .and_then(|law| law.noise(word, first, last))
            .and_then(|noise| i64::try_from(weight + noise).ok())
            .unwrap_or(i64::MIN)
    }

    /// The noise of this word, if a table decides it.
    #[inline]
    fn quick_noise(&self, word: u128) -> Option<i64> {
        self.table_of_noise(1).and_then(|(table, sigma)| table.noise(sigma, word))
    }

    /// The table for so many draws, and the scale of the noise; none for few draws, or for noise without a table.
    #[inline]
    fn table_of_noise(&self, draws: u32) -> Option<(&'static Quantiles, f64)> {
        let Noise::Gaussian { sigma } = self.noise else { return None };
        if self.drawn.load(Ordering::Relaxed).saturating_add(draws) <= WITHOUT_TABLE {
            self.drawn.fetch_add(draws, Ordering::Relaxed);
            return None;
        }
        // Without a law the scale is not positive and finite.
        self.law.map(|_| (Quantiles::get(), sigma))
    }

    #[cold]
    fn releases_without_table(&self, weight: u64, word: u128) -> bool {
        if self.decided.fetch_add(1, Ordering::Relaxed) >= WITHOUT_TABLE {
            self.table();
        }
        self.releases_outside_table(weight, word)
    }

    /// The table, made now if it is not there yet.
    fn table(&self) -> &DecisionTable {
        self.table.get_or_init(|| DecisionTable::new(self.noise, self.law, self.threshold))
    }

    #[cold]
    fn releases_outside_table(&self, weight: u64, word: u128) -> bool {
        self.law.is_some_and(|law| law.reaches(self.missing(weight), word))
    }

    /// The least noise that releases the item: threshold - weight.
    fn missing(&self, weight: u64) -> i128 {
        i128::from(self.threshold.steps()) - i128::from(weight)
    }
}

impl std::fmt::Debug for NoisyThreshold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoisyThreshold")
            .field("noise", &self.noise)
            .field("threshold", &self.threshold)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::UNIT;
    use crate::random::{Digest, Purpose, ReleaseKey, Words};

    /// Each statistical test of the noise fails on a correct program with at most this probability, were
    /// its words random; with the fixed key it either always or never does.
    const FALSE_ALARM: f64 = 1e-9;

    fn without_tables(scale: f64, threshold: i64) -> [NoisyThreshold; 2] {
        [Noise::Gaussian { sigma: scale }, Noise::Laplace { scale }]
            .map(|noise| NoisyThreshold::new(noise, Threshold::from_steps(threshold)))
    }

    /// With their tables, as after many decisions and draws.
    fn decisions(scale: f64, threshold: i64) -> [NoisyThreshold; 2] {
        without_tables(scale, threshold).map(|decision| {
            decision.table();
            decision.drawn.store(WITHOUT_TABLE, Ordering::Relaxed);
            decision
        })
    }

    impl NoisyThreshold {
        fn releases_exactly(&self, weight: u64, word: u128) -> bool {
            self.law.is_some_and(|law| law.reaches_exactly(self.missing(weight), word))
        }
    }

    #[test]
    fn every_bucket_edge_agrees_with_exact_arithmetic() {
        let unit = i64::try_from(UNIT).unwrap();
        for (scale, threshold) in [(2.236, 10 * unit), (1e-9, unit), (3e-9, 40), (1e9, 1 << 61)] {
            for decision in decisions(scale, threshold) {
                for weight in
                    decision.table().edges().into_iter().step_by(17).flat_map(|w| [w.saturating_sub(1), w])
                {
                    let k = decision.law.unwrap().bounds(decision.missing(weight));
                    let halves = [k.lo & !u128::from(u64::MAX), k.hi | u128::from(u64::MAX)];
                    for word in [k.lo, k.hi, halves[0], halves[1]] {
                        for word in [word.saturating_sub(1), word, word.saturating_add(1)] {
                            let exact = decision.releases_exactly(weight, word);
                            assert_eq!(
                                decision.releases(weight, word),
                                exact,
                                "{decision:?} {weight} {word}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// The same decisions before, while and after the table is made.
    #[test]
    fn decisions_do_not_depend_on_the_table() {
        let words = Words::new(&ReleaseKey::insecure_test([3; 32]), Purpose::Noise, 0);
        for decision in without_tables(2.5, 8 << 30) {
            for i in 0..3 * u128::from(WITHOUT_TABLE) {
                assert_eq!(decision.table.get().is_some(), i > u128::from(WITHOUT_TABLE));
                let (weight, word) = (u64::try_from(i).unwrap() << 24, words.word(Digest(i)));
                assert_eq!(decision.releases(weight, word), decision.releases_exactly(weight, word));
            }
        }
    }

    /// Many at a time as one after the other, with and without the table.
    #[test]
    fn released_items_are_found_wherever_they_stand() {
        let words = Words::new(&ReleaseKey::insecure_test([6; 32]), Purpose::Noise, 0);
        let words: Vec<u128> = (0..3 * u128::from(WITHOUT_TABLE)).map(|i| words.word(Digest(i))).collect();
        let weights: Vec<u64> = (0..words.len() as u64).map(|i| (i % 101) << 26).collect();
        for decision in without_tables(2.5, 8 << 30) {
            let items = || weights.iter().zip(&words).enumerate();
            let each = || items().filter(|(_, (weight, word))| decision.releases_exactly(**weight, **word));
            for length in [0, 1, 7, 8, 9, 700, words.len()] {
                let mut found = Vec::new();
                decision.each_released(&weights[..length], &words[..length], |at| found.push(at));
                let expected = each().map(|(at, _)| at).take_while(|at| *at < length);
                assert!(found.into_iter().eq(expected), "{decision:?} {length}");
            }
            assert!(decision.table.get().is_some() && each().count() > 10);
        }
    }

    /// The same noise before and after tables decide it.
    #[test]
    fn noisy_weights_do_not_depend_on_tables() {
        let words = Words::new(&ReleaseKey::insecure_test([4; 32]), Purpose::Noise, 0);
        for scale in [1e-6, 2.5, 1e3] {
            let first = || without_tables(scale, 0);
            for (decision, number) in first().iter().zip(0_usize..) {
                for i in 0..3 * u64::from(WITHOUT_TABLE) {
                    let word = words.word(Digest(i.into()));
                    let fresh = first()[number].noisy_weight(i, word);
                    assert_eq!(decision.noisy_weight(i, word), fresh, "{decision:?} {i}");
                }
            }
        }
    }

    /// Many at a time as one after the other, with and without tables.
    #[test]
    fn noises_of_many_words_are_those_of_each() {
        let words = Words::new(&ReleaseKey::insecure_test([5; 32]), Purpose::Noise, 0);
        let words: Vec<u128> = (0..2000).map(|i| words.word(Digest(i))).collect();
        for scale in [1e-9, 2.5, 1e9, f64::NAN] {
            for decision in without_tables(scale, 0) {
                let mut noises = vec![7];
                for some in [&words[..3], &words[3..300], &words[300..1200], &words[1200..]] {
                    decision.append_noises(some, &mut noises);
                }
                let expected = words.iter().map(|word| decision.noisy_weight(0, *word));
                assert!(noises[0] == 7 && noises[1..].iter().copied().eq(expected), "{decision:?}");
            }
        }
    }

    #[test]
    fn extreme_inputs() {
        let huge = [0, 1, UNIT, 1 << 62, u64::MAX];
        for scale in [5e-324, 1e-9, 1.0, 1e9, f64::MAX] {
            for threshold in [i64::MIN, -1, 0, 1, i64::MAX / 2, i64::MAX] {
                for (decision, weight) in
                    decisions(scale, threshold).iter().flat_map(|d| huge.map(|w| (d, w)))
                {
                    let ends = [0, 1, (1 << 127) - 1, 1 << 127, u128::MAX - 1, u128::MAX];
                    for word in ends.into_iter().chain([1 << 126, !(1 << 126)]) {
                        let released = decision.releases(weight, word);
                        assert_eq!(released, decision.releases_exactly(weight, word));
                        if threshold > i64::MIN {
                            assert_eq!(released, decision.noisy_weight(weight, word) >= threshold);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_unusable_scale_releases_nothing() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            for decision in decisions(scale, 5) {
                assert!(!decision.releases(u64::MAX, 0));
                assert_eq!(decision.noisy_weight(u64::MAX, 0), i64::MIN);
                assert_eq!(decision.noisy_weight(5, 1 << 126), i64::MIN);
            }
        }
    }

    /// An event decided by chance alone: at weight = threshold exactly half of the words release.
    #[test]
    fn boundary_of_the_rule() {
        for decision in decisions(1.0, 77) {
            assert!(decision.releases(77, (1 << 127) - 1) && !decision.releases(77, 1 << 127));
            assert!(!decision.releases(76, (1 << 127) - 1) && decision.releases(78, 1 << 127));
        }
    }

    /// Counts of releases among pseudorandom words stay within Hoeffding's bound of the exact probability.
    #[test]
    fn frequencies_on_pseudorandom_words() {
        const N: u32 = 400_000;
        let words = Words::new(&ReleaseKey::insecure_test([9; 32]), Purpose::Noise, 0);
        let weights = [0, UNIT, 3 * UNIT, 4 * UNIT, 6 * UNIT];
        let tests = 2 * weights.len();
        let bound = (f64::from(N) / 2.0 * libm::log(2.0 * tests as f64 / FALSE_ALARM)).sqrt();
        for (decision, weight) in decisions(1.7, 4 << 30).iter().flat_map(|d| weights.map(|w| (d, w))) {
            let released =
                (0..N).filter(|&i| decision.releases(weight, words.word(Digest(i.into())))).count();
            let probability =
                decision.law.unwrap().bounds(decision.missing(weight)).lo as f64 / 2_f64.powi(128);
            assert!((released as f64 - probability * f64::from(N)).abs() <= bound, "{weight}: {released}");
        }
    }

    proptest! {
        #[test]
        fn table_and_exact_agree(
            scale in -3.0..2.0_f64, weight in 0..1_u64 << 40, gap in -1_i64 << 36..1 << 36, word: u128, shift in 0..90_u32,
        ) {
            let threshold = i64::try_from(weight).unwrap() + gap;
            for decision in decisions(10_f64.powf(scale), threshold) {
                for word in [word >> shift, !(word >> shift)] {
                    prop_assert_eq!(decision.releases(weight, word), decision.releases_exactly(weight, word));
                }
            }
        }
    }
}
