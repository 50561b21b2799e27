//! The noisy numbers of units of all items, by several threads.

use dpsel_exact::numeric::UNIT;
use dpsel_exact::random::{ItemBits, Purpose, ReleaseKey, Words};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::Vocabulary;
use dpsel_rows::runtime::{Control, parallel};

use super::ranking::Ranking;
use crate::weighting::WeightHistogram;

/// Items ranked at a time.
const BLOCK: usize = 4 * Vocabulary::STRIDE;

/// A ranking round whose items are weighed.
#[derive(Debug)]
pub(super) struct NoisyRanks<'a> {
    ranking: Ranking,
    histogram: &'a WeightHistogram,
    vocabulary: &'a Vocabulary,
    key: &'a ReleaseKey,
    words: Words,
}

impl<'a> NoisyRanks<'a> {
    /// The round of this number, counted from 0.
    ///
    /// # Errors
    /// [`Error::Internal`] in a later round than the first: two rounds would share their noise.
    pub(super) fn new(
        (number, ranking): (u32, Ranking),
        histogram: &'a WeightHistogram,
        vocabulary: &'a Vocabulary,
        key: &'a ReleaseKey,
    ) -> Result<Self> {
        if number != 0 {
            return Err(Error::Internal("only the first round ranks the items"));
        }
        let words = Words::new(key, Purpose::Ranking, number);
        Ok(Self { ranking, histogram, vocabulary, key, words })
    }

    /// The noisy number of units of each item code.
    ///
    /// # Contract
    /// The noise of an item depends on the key and the item alone. It is drawn for every code, held or not.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn noisy_levels(&self, control: &Control) -> Result<Vec<i64>> {
        let codes = self.vocabulary.code_bound();
        let threads = parallel::threads_for(codes, control);
        let step = codes.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let mut levels = vec![0; codes];
        let parts = (0..).step_by(step).zip(levels.chunks_mut(step)).collect();
        parallel::map(threads, parts, |(first, part): (usize, &mut [i64])| {
            for (first, block) in (first..).step_by(BLOCK).zip(part.chunks_mut(BLOCK)) {
                self.fill(first, block);
            }
        });
        control.check()?;
        Ok(levels)
    }

    /// Set to the noisy numbers of units of the items from this code on.
    fn fill(&self, start: usize, levels: &mut [i64]) {
        let codes = start..start + levels.len();
        let mut first = vec![0; levels.len()];
        let digests = self.vocabulary.digests_from(codes.clone());
        self.words.fill(&digests, &mut first);
        let items = self.histogram.weights(codes).zip(digests).zip(first);
        for (level, ((weight, digest), first)) in levels.iter_mut().zip(items) {
            let mut bits = ItemBits::new(self.key, Purpose::Ranking, digest, first);
            *level = self.ranking.noisy(weight / UNIT, &mut bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use dpsel_rows::contributions::testing::contributions;

    use super::*;

    /// More items than one thread takes, so that there are many parts of them.
    #[test]
    fn the_noise_of_an_item_is_its_own_for_any_number_of_threads() {
        let key = ReleaseKey::insecure_test([9; 32]);
        let rows: Vec<(u64, u64)> = (0..150_000).map(|item| (item % 7, item)).collect();
        let table = contributions(&rows, &key);
        let vocabulary = &table.vocabulary;
        let codes = vocabulary.code_bound();
        let histogram = WeightHistogram::new(codes);
        let ranking = Ranking { rate_above: 0.01, rate_below: 0.02 };
        let ranked = NoisyRanks::new((0, ranking), &histogram, vocabulary, &key).unwrap();
        let levels = |threads| ranked.noisy_levels(&Control::new(NonZeroUsize::new(threads), None)).unwrap();
        let one = levels(1);
        let digests = vocabulary.digests_from(0..codes);
        for (digest, level) in digests.into_iter().zip(&one).step_by(997) {
            let mut bits = ItemBits::new(&key, Purpose::Ranking, digest, ranked.words.word(digest));
            assert_eq!(*level, ranking.noisy(0, &mut bits));
        }
        for threads in [2, 5] {
            assert_eq!(levels(threads), one, "{threads}");
        }
    }
}
