//! What certifies that the integers of a plan keep its guarantee: sums over all comparisons, in intervals.

use dpsel_exact::Result;
use dpsel_exact::accounting::gaussian::delta_upper;
use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::numeric::{Interval, UNIT, add_up, div_up, mul_up, normal_tail, sub_down};

use super::plan::{FORMAT, NORM, SeriesPlan, blocks_of_age, not_a_plan};
use crate::mechanisms::value_slack;

/// The bounds that intervals give for the integers of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) mu: f64,
    pub(super) delta_thresholds: f64,
    pub(super) delta_noise: f64,
    pub(super) slack: f64,
}

/// The numbers that bounds are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Certified<'a> {
    pub(super) privacy: Privacy,
    pub(super) releases: u32,
    pub(super) most: L0Bound,
    pub(super) blocks: &'a [u32],
    pub(super) rounds: u32,
    pub(super) sigma: f64,
    pub(super) thresholds: &'a [u64],
    pub(super) ranks: &'a [u32],
    pub(super) caps: &'a [Vec<u64>],
}

impl Certified<'_> {
    /// Bounds of the two parts of delta and of the slack of finite precision.
    ///
    /// # Contract
    /// In real numbers `delta_T` and `delta_G` are at most the bounds.
    pub(super) fn bounds(&self) -> Bounds {
        // The variance of one release as it is drawn.
        let variance = Interval::integer(self.rounds.into()) * Interval::point(self.sigma).square();
        let mu = div_up(1.0, variance.sqrt().lo());
        let delta_noise = match self.privacy {
            Privacy::ApproxDp { epsilon, .. } => delta_upper(epsilon, mu),
            Privacy::Zcdp { .. } | Privacy::PureDp { .. } => 0.0,
        };
        let ages = (1_u32..).zip(blocks_of_age(self.blocks, self.releases));
        let all = ages.zip(self.thresholds).zip(self.caps).fold(
            Interval::ZERO,
            |sum, (((age, number), t), caps)| {
                let deviation =
                    (Interval::integer(age.into()) * variance).sqrt() * Interval::integer(UNIT.into());
                let one = self.of_comparison((age, *t), caps, deviation);
                sum + Interval::integer(number.into()) * one
            },
        );
        let steps = f64::from(self.rounds * self.releases);
        let slack = mul_up(value_slack(self.sigma, self.most), steps);
        Bounds { mu, delta_thresholds: all.hi(), delta_noise, slack }
    }

    /// The sum of q over all ranks, for one comparison of this age.
    fn of_comparison(&self, (age, threshold): (u32, u64), caps: &[u64], deviation: Interval) -> Interval {
        let tail = |steps: i128| normal_tail(Interval::integer(steps) / deviation);
        // Every round rounds its noise down, by at most a grid step.
        let end = tail(i128::from(threshold) + i128::from(self.rounds) * i128::from(age));
        let mut before = 0;
        self.ranks.iter().zip(caps).fold(Interval::ZERO, |sum, (upto, cap)| {
            let number = Interval::integer(i128::from(*upto) - before);
            before = i128::from(*upto);
            sum + number * (tail(i128::from(threshold) - i128::from(*cap)) - end)
        })
    }

    /// Whether caps neither exceed their threshold, nor fall with the age, nor grow with the rank.
    pub(super) fn has_sound_caps(&self) -> bool {
        let within = |(caps, threshold): (&Vec<u64>, &u64)| {
            caps.is_sorted_by(|a, b| a >= b) && caps.first().is_some_and(|first| first <= threshold)
        };
        let grows = |pair: &[Vec<u64>]| pair[0].iter().zip(&pair[1]).all(|(a, b)| a <= b);
        self.caps.iter().zip(self.thresholds).all(within) && self.caps.windows(2).all(grows)
    }
}

/// Whether the bounds are within the guarantee, with this reserve.
pub(super) fn holds(privacy: Privacy, bounds: Bounds, reserve: f64) -> bool {
    let Bounds { mu, delta_thresholds, delta_noise, slack } = bounds;
    let within = |delta: f64| add_up(delta_thresholds, delta_noise) <= sub_down(delta, reserve);
    match privacy {
        Privacy::ApproxDp { epsilon, delta } => {
            within(delta) && mul_up(slack, reserve_factor(epsilon)) <= reserve
        }
        Privacy::Zcdp { rho, delta } => {
            within(delta) && slack <= reserve && root_of_rho(mu, delta_thresholds).square().hi() <= rho
        }
        Privacy::PureDp { .. } => false,
    }
}

/// What a total variation costs of delta, in multiples.
pub(super) fn reserve_factor(epsilon: f64) -> f64 {
    add_up(1.0, Interval::point(epsilon).exp().hi())
}

/// The root of rho of Theorem 2.
fn root_of_rho(mu: f64, delta_thresholds: f64) -> Interval {
    let lambda = -(-Interval::point(delta_thresholds)).ln_1p();
    Interval::point(mu) / Interval::point(2.0).sqrt() + lambda.sqrt()
}

impl SeriesPlan {
    /// A plan from its text, whose certificate holds.
    ///
    /// # Errors
    /// [`Error::Report`] for a text that is no plan, or whose integers do not keep the guarantee.
    pub fn from_json(text: &str) -> Result<Self> {
        let plan: Self = serde_json::from_str(text).map_err(|_| not_a_plan("it has another form"))?;
        if plan.format != FORMAT {
            return Err(not_a_plan("it has another version"));
        }
        plan.asked.validate()?;
        plan.check_shape().ok_or_else(|| not_a_plan("its numbers do not fit together"))?;
        plan.check()?;
        Ok(plan)
    }

    fn certified(&self) -> Certified<'_> {
        Certified {
            privacy: self.asked.privacy,
            releases: self.asked.releases,
            most: self.asked.max_items_per_user,
            blocks: &self.blocks,
            rounds: self.rounds,
            sigma: self.sigma,
            thresholds: &self.thresholds,
            ranks: &self.ranks,
            caps: &self.caps,
        }
    }

    /// Refuse a plan whose certificate does not hold.
    ///
    /// # Contract
    /// All bounds are computed anew from the integers. The certificate states no less than they are.
    ///
    /// # Errors
    /// [`Error::Report`](dpsel_exact::Error::Report).
    fn check(&self) -> Result<()> {
        let refused = |why| Err(not_a_plan(why));
        if !(self.sigma.is_finite() && self.sigma > 0.0) || self.norm != NORM {
            return refused("its noise is not that of its norm");
        }
        let certified = self.certified();
        if !certified.has_sound_caps() {
            return refused("its caps do not fit its thresholds");
        }
        let (bounds, stated) = (certified.bounds(), self.certificate);
        let is_stated = bounds.mu <= stated.mu
            && bounds.delta_thresholds <= stated.delta_thresholds
            && bounds.delta_noise <= stated.delta_noise;
        // NaN is not stated.
        if !is_stated || !stated.reserve.is_finite() || stated.reserve < 0.0 {
            return refused("its certificate states less than it costs");
        }
        if !holds(self.asked.privacy, bounds, stated.reserve) {
            return refused("its integers do not keep its guarantee");
        }
        Ok(())
    }
}
