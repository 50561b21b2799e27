//! `LimitDomain`: exponential mechanisms among the largest counts, and a stop that competes with them.
//!
//! Theorem: after Durfee and Rogers, "Practical differentially private top-k selection with pay-what-you-get
//! composition" (2019), with the proof and constants of `docs/algorithms/limit_domain.md`. Nobody has to name the
//! items.

use dpsel_exact::accounting::{Guarantee, Privacy};
use dpsel_exact::numeric::{Interval, div_down, mul_up, sub_down};
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::gumbel_peel::{Conversion, per_pick};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::draws::peel::{Picked, RatedPick, pick_horizon};
use crate::top_k::ranking::{Counts, Place, RankedCounts};

/// Top-k without a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitDomain {
    /// The number of the largest counts that are candidates; by default ten times k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
}

impl LimitDomain {
    fn candidates(self, k: u32) -> Result<u32> {
        // Otherwise: the default, as documented.
        let candidates = self.candidates.unwrap_or(k.saturating_mul(10));
        if candidates < k {
            let fix = "look at more counts than you ask for";
            return Err(Error::parameter("candidates", "at least k", candidates, fix));
        }
        Ok(candidates)
    }
}

impl TopKMechanism for LimitDomain {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let Privacy::ApproxDp { epsilon, delta } = parameters.privacy else {
            return Err(Error::Incompatible {
                what: "LimitDomain finds items that nobody named; its guarantee is in epsilon and delta"
                    .into(),
                fix: "use ApproxDP(epsilon=..., delta=...), or Discover, which has zCDP, too",
            });
        };
        let candidates = self.candidates(parameters.k)?;
        let Parts { pick, missed } = Parts::new(epsilon, delta, parameters.k);
        let mut calibration = TopKCalibration::new(parameters.per_span(pick), parameters.k)?;
        let reach = parameters.changed_counts().map_or(candidates.into(), |most| most.min(candidates.into()));
        let odds = Interval::integer(reach.into()) / Interval::point(missed);
        let above = odds.ln() / Interval::point(calibration.rate);
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and a larger threshold is safe")]
        let threshold = (above.hi().ceil() as i64).saturating_add_unsigned(parameters.span());
        calibration.candidates = Some(candidates);
        calibration.threshold = Some(threshold.min(1 << 60));
        Ok(calibration)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by exponential mechanisms among the largest counts, with a stop above the last",
            neighbours: neighbours.words(),
            source: "Durfee and Rogers 2019, with the proof of the page",
            proof: "docs/algorithms/limit_domain.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let candidates = calibration.candidates.map_or(k, |n| n as usize);
        let held = counts.counts.iter().filter(|count| **count > 0).count();
        let limited = candidates.min(held);
        if limited == 0 {
            return vec![];
        }
        // Items that nobody holds are not in the data; the last count is 0 then.
        let whole = RankedCounts::new(counts, (candidates + 1).min(counts.counts.len()), 0);
        // Otherwise: there are no more items, and nobody holds the next one.
        let last = whole.top().get(candidates).copied().unwrap_or(0).max(0);
        // Otherwise: no threshold was calibrated, and nothing is above it.
        let stop = last.saturating_add(calibration.threshold.unwrap_or(i64::MAX));
        let mut competing = whole.top()[..limited].to_vec();
        competing.push(stop);
        let ranks = draw_until_stop(&competing, k, calibration.rate, key);
        let places = whole.places(&ranks);
        places.into_iter().map(|place| Pick { place, noisy: None }).collect()
    }

    fn finds_domain(&self) -> bool {
        true
    }

    fn log_answers(&self, _items: u64, _k: u64) -> Option<Interval> {
        None
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn needs_every_count(&self) -> bool {
        false
    }
}

/// How a budget is divided.
struct Parts {
    /// Epsilon of each pick.
    pick: f64,
    /// The chance that an item which only one of two neighbours has goes before the stop.
    missed: f64,
}

impl Parts {
    /// Picks that compose to all of epsilon need no delta of their own; otherwise they get half of it.
    fn new(epsilon: f64, delta: f64, k: u32) -> Self {
        let half = delta / 2.0;
        let (left, missed) = missed(epsilon, half, k);
        let composed = per_pick(Privacy::ApproxDp { epsilon: left, delta: half }, k, Conversion::Tight);
        let (all, whole) = self::missed(epsilon, delta, k);
        let pure = per_pick(Privacy::PureDp { epsilon: all }, k, Conversion::Tight);
        // A thousandth of the rate is worth less than twice the chance.
        if pure * 1.001 >= composed {
            Self { pick: pure, missed: whole }
        } else {
            Self { pick: composed, missed }
        }
    }
}

/// The epsilon that is left for the picks, and the chance that costs `delta` in all: either (1 + e^epsilon) times as
/// much, or, if each pick also loses this chance in its exponent, once.
fn missed(epsilon: f64, delta: f64, k: u32) -> (f64, f64) {
    let plain = (Interval::point(delta) / (Interval::ONE + Interval::point(epsilon).exp())).lo();
    let picks = f64::from(k);
    let sharp = delta.min(div_down(epsilon, 1024.0 * picks));
    if sharp > plain { (sub_down(epsilon, mul_up(picks, sharp)), sharp) } else { (epsilon, plain) }
}

/// Pick among the counts until the last one, the stop, is picked, or `k` times.
fn draw_until_stop(counts: &[i64], k: usize, rate: f64, key: &ReleaseKey) -> Vec<u64> {
    let items = counts.len();
    let counts = Counts { counts, digests: None, unseen: 0 };
    let ranking = RankedCounts::new(counts, items, pick_horizon(items as u64, rate));
    let places = ranking.places(&(0..items as u64).collect::<Vec<_>>());
    let mut coins = Coins::new(key, Purpose::TopK, 0);
    let (mut picked, mut found) = (Picked::default(), vec![]);
    while found.len() < k {
        let rank = RatedPick::new(&ranking, &picked, rate).draw(&mut coins);
        let place = usize::try_from(rank).ok().and_then(|rank| places.get(rank)).copied();
        match place {
            // The candidates stand in order of rank, so positions are ranks.
            Some(Place::Listed(position)) if position + 1 < items => found.push(position as u64),
            _ => break,
        }
        picked.push(rank);
    }
    found
}
