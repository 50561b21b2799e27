//! One thresholded Gaussian round, exactly: noise and threshold may both use the whole delta.
//!
//! Take a user with k bounded items, t of them novel. Let p be the probability that no novel item is released and mu
//! the L2 norm of the user's weights on the other items in standard deviations. Then the two hockey-stick divergences
//! are at most (1 - p) + p dG(epsilon - ln p, mu) and dG(epsilon + ln p, mu). The proof is in
//! `docs/algorithms/accounting.md`; Wilkins, Kifer, Zhang and Karrer (2024) have the version for counts.
//!
//! The maximum over all (t, k) is certified by rectangles: both expressions fall in p and grow in mu; p falls in t and
//! grows in k; mu falls in t and grows in k. So the corner values bound a rectangle, and uncertain ones are split.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::accounting::gaussian::{delta_upper, smallest_sigma};
use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::{Interval, UNIT, add_down, add_up, mul_up, sub_down};
use dpsel_exact::{Error, Result};

use super::super::Noisy;
use super::{geometric_middle, noise_tail, novel_items_within, smallest_threshold};
use crate::weighting::{L2Norm, PolicyL2, Weighting};

/// Rectangles tried before a calibration counts as not certified: a bound on time, never on privacy.
const MOST_RECTANGLES: u32 = 20_000;

/// Users with `first.0..=last.0` novel items among `first.1..=last.1` items.
#[derive(Debug, Clone, Copy)]
struct Rectangle {
    novel: (u32, u32),
    items: (u32, u32),
}

/// Whether one round of this noise and threshold satisfies (`epsilon`, `delta`)-DP for users of at most `bound` items.
///
/// `false` for weightings whose norm has no proof, see [`Weighting::l2_norm`].
///
/// # Contract
/// `true` is certified in real numbers; `false` says that it fails or could not be certified.
pub fn single_round_holds(
    round: Noisy,
    weighting: Weighting,
    bound: L0Bound,
    epsilon: f64,
    delta: f64,
) -> bool {
    let Noise::Gaussian { sigma } = round.noise else {
        return false;
    };
    let d0 = bound.get();
    let Some(norm) = weighting.l2_norm() else {
        return false;
    };
    let context = Context { round, sigma, weighting, norm, bound: d0, epsilon, delta };
    // No novel item: the plain Gaussian mechanism.
    if delta_upper(epsilon, context.largest_shift(0, d0)) > delta
        || !novel_items_within(round.noise, weighting, bound, round.threshold, delta)
    {
        return false;
    }
    // With weight 1 for every k, a user of D0 items is the worst case: it shares the most items.
    let items = if norm == L2Norm::Count { (d0, d0) } else { (1, d0) };
    let mut open = vec![Rectangle { novel: (1, d0), items }];
    let mut seen = 0;
    while let Some(rectangle) = open.pop().map(Rectangle::feasible) {
        seen += 1;
        if rectangle.is_empty() || context.certifies(rectangle) {
            continue;
        }
        if rectangle.is_point() || seen > MOST_RECTANGLES {
            return false;
        }
        open.extend(rectangle.split());
    }
    true
}

/// Noise and threshold of one round with the smallest threshold that can be certified.
///
/// The noise first takes the whole delta, and so does the threshold. Where that does not verify (little noise is bought
/// by delta alone, as for epsilon near 0 and a large delta) the noise grows step by step, and the threshold is
/// found by bisection; the additive split of delta is the fallback that always holds.
///
/// # Errors
/// [`Error::Calibration`] if noise or threshold leave the range of the numbers.
pub fn calibrate_single_round(
    weighting: Weighting,
    bound: L0Bound,
    epsilon: f64,
    delta: f64,
) -> Result<Noisy> {
    let whole = proposal(weighting, bound, epsilon, delta, delta)?;
    if single_round_holds(whole, weighting, bound, epsilon, delta) {
        return Ok(whole);
    }
    let shares = [0.9999, 0.99, 0.97, 0.93, 0.87, 0.8, 0.7, 0.6, 0.5, 0.35];
    let best = shares
        .iter()
        .filter_map(|share| search_threshold(weighting, bound, epsilon, delta, *share).ok())
        .min_by_key(|round| round.threshold);
    best.ok_or_else(|| Error::Calibration {
        what: format!("one Gaussian round at epsilon = {epsilon:e} and delta = {delta:e}"),
        fix: "raise epsilon or delta, or lower max_items_per_user",
    })
}

/// Noise for `noise_delta` and the smallest threshold for `threshold_delta`.
fn proposal(
    weighting: Weighting,
    bound: L0Bound,
    epsilon: f64,
    noise_delta: f64,
    threshold_delta: f64,
) -> Result<Noisy> {
    let sigma = scaled(smallest_sigma(epsilon, noise_delta)?, weighting, bound)?;
    let noise = Noise::Gaussian { sigma };
    let threshold = smallest_threshold(noise, weighting, bound, threshold_delta)?;
    Ok(Noisy { noise, threshold })
}

/// Noise that takes `share` of delta, and about the smallest threshold that verifies with it.
fn search_threshold(
    weighting: Weighting,
    bound: L0Bound,
    epsilon: f64,
    delta: f64,
    share: f64,
) -> Result<Noisy> {
    let noise_delta = share * delta;
    // delta = noise_delta + (1 - noise_delta) threshold_delta always holds, see the section on several rounds.
    let rest = (Interval::point(delta) - Interval::point(noise_delta))
        / (Interval::ONE - Interval::point(noise_delta));
    let mut good = proposal(weighting, bound, epsilon, noise_delta, rest.lo())?;
    let least = smallest_threshold(good.noise, weighting, bound, delta)?;
    let mut low = least.steps();
    for _ in 0..10 {
        let middle = low + (good.threshold.steps() - low) / 2;
        let candidate = Noisy { threshold: Threshold::from_steps(middle), ..good };
        if single_round_holds(candidate, weighting, bound, epsilon, delta) {
            good = candidate;
        } else {
            low = middle;
        }
    }
    Ok(good)
}

/// Everything that is the same for all rectangles of one verification.
struct Context {
    round: Noisy,
    sigma: f64,
    weighting: Weighting,
    norm: L2Norm,
    bound: u32,
    epsilon: f64,
    delta: f64,
}

impl Context {
    /// Whether all configurations of the rectangle stay within delta.
    fn certifies(&self, rectangle: Rectangle) -> bool {
        let weight = self.weighting.weight(rectangle.items.0);
        let q = noise_tail(self.round.noise, i128::from(self.round.threshold.steps()) - i128::from(weight));
        // Both expressions fall in p: from here on p stands for e^log_p, certainly not above the probability.
        let log_p = (Interval::integer(rectangle.novel.1.into()) * (-Interval::point(q.hi())).ln_1p()).lo();
        let missed = (-Interval::point(log_p).exp_m1()).hi();
        if missed > self.delta {
            return false;
        }
        let mu = self.largest_shift(rectangle.novel.0, rectangle.items.1);
        let p = Interval::point(log_p).exp().hi();
        let with_user = add_up(missed, mul_up(p, delta_upper(sub_down(self.epsilon, log_p), mu)));
        with_user <= self.delta && delta_upper(add_down(self.epsilon, log_p), mu) <= self.delta
    }

    /// An upper bound of the shift of the shared items, in standard deviations: at least `novel` of at most `items`.
    fn largest_shift(&self, novel: u32, items: u32) -> f64 {
        let shared = Interval::integer(items.saturating_sub(novel).into());
        let norm = match self.norm {
            L2Norm::Policy(policy) => return self.largest_shift_of_policy(policy, novel, items),
            L2Norm::Count => shared.sqrt(),
            // k w_k^2 <= 1, so (k - t) w_k^2 <= (k - t) / k.
            L2Norm::Equal => (shared / Interval::integer(items.into())).sqrt(),
        };
        if items <= novel { 0.0 } else { (norm / Interval::point(self.sigma)).hi() }
    }

    /// The largest shift if users are weighed one after the other.
    ///
    /// There a novel item has any weight between 1/sqrt(D0) and 1/sqrt(t), and `items` stands for all weights a with
    /// items <= 1/a^2 < items + 1. The squared norm less the squares of the novel items is left for any number of items
    /// of other users.
    fn largest_shift_of_policy(&self, policy: PolicyL2, novel: u32, items: u32) -> f64 {
        let least = PolicyL2::least_novel_weight(items.saturating_add(1).min(self.bound));
        let weight = Interval::integer(least.into()) * Interval::point(1.0 / UNIT as f64);
        let square = policy.norm().square() - Interval::integer(novel.into()) * weight.square();
        (Interval::point(square.hi().max(0.0)).sqrt() / Interval::point(self.sigma)).hi()
    }
}

/// Gaussian noise for a round, given its standard deviation at norm 1. Rounded up.
///
/// Every mechanism makes the noise of its rounds here, so none can forget the norm of its weighting.
///
/// # Errors
/// [`Error::Internal`] for a weighting whose norm has no proof.
pub fn gaussian_noise(weighting: Weighting, bound: L0Bound, sigma: f64) -> Result<Noise> {
    Ok(Noise::Gaussian { sigma: scaled(sigma, weighting, bound)? })
}

fn scaled(sigma: f64, weighting: Weighting, bound: L0Bound) -> Result<f64> {
    match weighting.l2_norm() {
        Some(L2Norm::Equal) => Ok(sigma),
        Some(norm @ (L2Norm::Count | L2Norm::Policy(_))) => Ok(mul_up(sigma, norm.at_most(bound))),
        None => Err(Error::Internal("a Gaussian round has no proof for this weighting")),
    }
}

impl Rectangle {
    /// Cut off the part with more novel items than items.
    fn feasible(self) -> Self {
        let (novel, items) = (self.novel, self.items);
        Self { novel: (novel.0, novel.1.min(items.1)), items: (items.0.max(novel.0), items.1) }
    }

    fn is_empty(self) -> bool {
        self.novel.0 > self.novel.1 || self.items.0 > self.items.1
    }

    fn is_point(self) -> bool {
        self.novel.0 == self.novel.1 && self.items.0 == self.items.1
    }

    /// Two halves across the side that is longer on a logarithmic scale.
    fn split(self) -> [Self; 2] {
        let (novel, items) = (self.novel, self.items);
        if u64::from(novel.1) * u64::from(items.0) >= u64::from(items.1) * u64::from(novel.0)
            && novel.0 < novel.1
        {
            let middle = geometric_middle(novel.0, novel.1);
            [Self { novel: (novel.0, middle), ..self }, Self { novel: (middle + 1, novel.1), ..self }]
        } else {
            let middle = geometric_middle(items.0, items.1);
            [Self { items: (items.0, middle), ..self }, Self { items: (middle + 1, items.1), ..self }]
        }
    }
}
