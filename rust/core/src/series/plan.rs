//! The plan of a series: all its integers, fixed before the first row is read.

use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::numeric::UNIT;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

/// The version of the form of plans.
pub(super) const FORMAT: u32 = 1;
/// The most releases of a series. An error message says it too.
pub(super) const MOST_RELEASES: u32 = 1024;
/// The pace of the first release of a user is 2^this.
pub(super) const PACE_BITS: u32 = 40;
/// The square of the norm of a user, for all releases together.
pub(super) const NORM: u64 = UNIT * UNIT;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The guarantee of all releases together.
    pub privacy: Privacy,
    /// The most releases of the series.
    pub releases: u32,
    /// The most pairs of one user that ever get weight.
    pub max_items_per_user: L0Bound,
    /// Whether pairs that arrive within a block wait for the next one.
    pub waits: bool,
}

/// All integers of a series, and the certificate that they keep the guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesPlan {
    pub(super) format: u32,
    pub(super) asked: Asked,
    /// The first release of each block, from 1.
    pub(super) blocks: Vec<u32>,
    /// Rounds of a release.
    pub(super) rounds: u32,
    /// The square of the norm of a user, in squares of grid steps.
    pub(super) norm: u64,
    /// The standard deviation of the noise of a round, in units of weight.
    pub(super) sigma: f64,
    /// About the standard deviation of the noise of a release, in grid steps. It only steers.
    pub(super) spread: u64,
    /// By age, in grid steps.
    pub(super) thresholds: Vec<u64>,
    /// The ranks up to which caps hold.
    pub(super) ranks: Vec<u32>,
    /// By age and then by these ranks, in grid steps.
    pub(super) caps: Vec<Vec<u64>>,
    /// How spending falls with the age of a user. It only steers.
    pub(super) pace: Vec<u64>,
    pub(super) certificate: Certificate,
}

/// The parts of the guarantee of a plan. All numbers are upper bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Certificate {
    /// The distance of the means that one user makes, in standard deviations.
    pub(super) mu: f64,
    /// The height of the thresholds, in standard deviations.
    pub(super) z: f64,
    /// The part of delta for all comparisons: `delta_T` of Theorem 1.
    pub(super) delta_thresholds: f64,
    /// The part of delta for the noise: `delta_G` of Theorem 1, 0 under zCDP.
    pub(super) delta_noise: f64,
    /// The part of delta for finite precision.
    pub(super) reserve: f64,
}

impl Asked {
    /// Check the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter.
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        if !(1..=MOST_RELEASES).contains(&self.releases) {
            return Err(Self::no_number_of_releases(self.releases));
        }
        Ok(self)
    }

    /// The error for a number of releases that is out of range.
    pub fn no_number_of_releases(given: impl ToString) -> Error {
        let fix = "it is the most releases that the series will ever have, such as 52 weeks";
        Error::parameter("releases", "between 1 and 1,024", given, fix)
    }
}

impl SeriesPlan {
    /// The plan as text.
    ///
    /// # Errors
    /// [`Error::Internal`] never in practice: every field serialises.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|_| Error::Internal("a plan does not serialise"))
    }

    /// Whether the lists have the lengths and orders that all code relies on.
    pub(super) fn check_shape(&self) -> Option<()> {
        let ages = self.longest() as usize;
        let is_rising = |numbers: &[u32]| numbers.is_sorted_by(|a, b| a < b);
        let is_sound = self.blocks == blocks(self.asked.releases)
            && (1..=64).contains(&self.rounds)
            && self.thresholds.len() == ages
            && self.caps.len() == ages
            && is_rising(&self.ranks)
            && self.ranks.first() == Some(&1)
            && self.ranks.last() == Some(&self.asked.max_items_per_user.get())
            && self.caps.iter().all(|caps| caps.len() == self.ranks.len())
            && self.pace.len() == self.asked.releases as usize
            && self.pace.iter().all(|pace| (1..=1 << PACE_BITS).contains(pace))
            && self.thresholds.iter().all(|threshold| (1..1 << 61).contains(threshold))
            && (1..1 << 61).contains(&self.spread);
        is_sound.then_some(())
    }

    /// The number of releases of the longest block.
    pub(super) fn longest(&self) -> u32 {
        longest(&self.blocks, self.asked.releases)
    }

    /// The first release of the block of a release, and the number of releases of this block.
    pub(super) fn block(&self, release: u32) -> (u32, u32) {
        let after = self.blocks.partition_point(|first| *first <= release);
        // Otherwise: releases are counted from 1, with which the first block begins; and the last block ends with them.
        let first = after.checked_sub(1).map_or(1, |at| self.blocks[at]);
        let next = self.blocks.get(after).copied().unwrap_or(self.asked.releases + 1);
        (first, next - first)
    }

    /// The age of a release: the number of releases of its block up to it.
    pub(super) fn age(&self, release: u32) -> u32 {
        release - self.block(release).0 + 1
    }

    /// The place of the caps of a rank.
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 64 places")]
    pub(super) fn place(&self, rank: u32) -> u8 {
        self.ranks.partition_point(|upto| *upto < rank) as u8
    }

    /// The caps of an age, by the places of ranks.
    pub(super) fn caps_at(&self, age: u32) -> &[u64] {
        &self.caps[age as usize - 1]
    }

    /// The age of the last release of the block of a release.
    pub(super) fn longest_age(&self, release: u32) -> u32 {
        self.block(release).1
    }

    /// The threshold of an age.
    pub(super) fn threshold(&self, age: u32) -> u64 {
        self.thresholds[age as usize - 1]
    }
}

/// The first releases of the blocks: from the second on, each block is as long as all before it together, but it has two
/// releases at least, and no more than a seventh of all, rounded up.
pub(super) fn blocks(releases: u32) -> Vec<u32> {
    let most = releases.div_ceil(7).max(2);
    let starts = std::iter::successors(Some(1), |first| Some(first + (first - 1).clamp(2, most)));
    starts.take_while(|first| *first <= releases).collect()
}

/// The number of releases of the longest of these blocks.
pub(super) fn longest(blocks: &[u32], releases: u32) -> u32 {
    let ends = blocks.iter().skip(1).copied().chain([releases + 1]);
    blocks.iter().zip(ends).map(|(first, end)| end - first).fold(0, u32::max)
}

/// The number of blocks that reach each age, from 1.
pub(super) fn blocks_of_age(blocks: &[u32], releases: u32) -> Vec<u32> {
    let ends = || blocks.iter().skip(1).copied().chain([releases + 1]);
    let reach = |age: u32| blocks.iter().zip(ends()).filter(|(first, end)| *end - **first >= age).count();
    (1..=longest(blocks, releases)).map(|age| dpsel_exact::numeric::widths::codes(reach(age))).collect()
}

pub(super) fn not_a_plan(why: &str) -> Error {
    Error::Report(format!("{why}, so it is no plan of a series; make a new one"))
}
