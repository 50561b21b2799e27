//! Weights and noise of a series of numbers. They are found in plain arithmetic, and taken only if they are certified.

use dpsel_exact::accounting::Privacy;
use dpsel_exact::accounting::gaussian::largest_mu;
use dpsel_exact::numeric::{Interval, UNIT, div_up, mul_down, sqrt_down, sub_up};
use dpsel_exact::{Error, Result};

use super::plan::{CountsAsked, CountsCertificate, CountsPlan, DECODE_BITS, FORMAT, LARGEST};
use crate::mechanisms::with_reserve;
use crate::series::certificate::reserve_factor;

/// The error for a budget without a delta.
fn no_pure_dp() -> Error {
    Error::Incompatible {
        what: "a series of numbers has Gaussian noise, which needs delta > 0, and PureDP has none".into(),
        fix: "use ApproxDP(epsilon=..., delta=...)",
    }
}

/// Powers of the weights that are tried, in parts of 1.
const POWERS: u32 = 20;

impl CountsPlan {
    /// The plan of a series of numbers: of all weights that are tried, those whose last number has the least noise.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`]; [`Error::Incompatible`] for `PureDP`; [`Error::Calibration`] if there is none.
    pub fn new(asked: CountsAsked) -> Result<Self> {
        let asked = asked.validate()?;
        let shapes = (0..=POWERS).map(|power| {
            let weights = weights(asked, f64::from(power) / f64::from(POWERS));
            Self::unpaid(asked, weights)
        });
        let error = |plan: &Self| plan.norm() as f64 * square(&plan.decode);
        // Otherwise: there is at least one power.
        let best = shapes.min_by(|a, b| error(a).total_cmp(&error(b)));
        let best = best.ok_or(Error::Internal("no weights of a series were tried"))?;
        let (delta, factor) = match asked.privacy {
            Privacy::PureDp { .. } => return Err(no_pure_dp()),
            Privacy::ApproxDp { epsilon, delta } => (delta, reserve_factor(epsilon)),
            Privacy::Zcdp { delta, .. } => (delta, 1.0),
        };
        with_reserve(delta, factor, |left| {
            let plan = best.paid(left, sub_up(delta, left))?;
            let slack = plan.slack();
            Ok((plan, slack))
        })
    }

    /// Weights, and what follows from them, without noise.
    fn unpaid(asked: CountsAsked, weights: Vec<u64>) -> Self {
        let decode = decode(asked, &weights);
        let certificate = CountsCertificate { mu: 0.0, delta_noise: 0.0, reserve: 0.0 };
        Self { format: FORMAT, asked, weights, decode, sigma: 0.0, certificate }
    }

    /// The same with the noise that this delta and the guarantee buy.
    fn paid(&self, left: f64, reserve: f64) -> Result<Self> {
        let mu = match self.asked.privacy {
            Privacy::ApproxDp { epsilon, .. } => largest_mu(epsilon, left)?,
            Privacy::Zcdp { rho, .. } => sqrt_down(mul_down(2.0, rho)),
            Privacy::PureDp { .. } => f64::NAN,
        };
        let norm = Interval::integer(self.norm().cast_signed()).sqrt() / Interval::integer(UNIT.into());
        // The bounds that are computed from the noise are rounded up again, by a few units in the last place.
        let sigma = div_up(norm.hi(), mul_down(mu, 1.0 - 0.5_f64.powi(46)));
        let plan = Self { sigma, ..self.clone() };
        if !(mu > 0.0 && sigma > 0.0 && sigma < LARGEST) {
            return Err(none());
        }
        let found = plan.bounds();
        if !plan.holds(found, reserve) && plan.slack() <= reserve {
            return Err(none());
        }
        Ok(Self { certificate: CountsCertificate { reserve, ..found }, ..plan })
    }
}

/// The error where no noise keeps the guarantee.
fn none() -> Error {
    Error::Calibration {
        what: "numbers of a series with noise of a standard deviation below 2^28 = 268,435,456".into(),
        fix: "raise epsilon, rho or delta, or lower max_items_per_user or max_releases_per_item",
    }
}

/// The first coefficients of (1 - z)^-power, as many as there are releases in the window: from 1 on, they fall.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2^30")]
fn weights(asked: CountsAsked, power: f64) -> Vec<u64> {
    let ratio = |k: u32| (f64::from(k) - 1.0 + power) / f64::from(k);
    let all = (1..asked.window).scan(1.0, |weight, k| {
        *weight *= ratio(k);
        Some((*weight * UNIT as f64) as u64)
    });
    std::iter::once(UNIT).chain(all).take_while(|weight| *weight > 0).collect()
}

/// The first column of M R^-1, where M adds up a window.
#[expect(clippy::cast_possible_truncation, reason = "below 2^42 for falling weights")]
fn decode(asked: CountsAsked, weights: &[u64]) -> Vec<i64> {
    let weights: Vec<f64> = weights.iter().map(|weight| *weight as f64 / UNIT as f64).collect();
    let (releases, window) = (asked.releases as usize, asked.window as usize);
    let mut inverse: Vec<f64> = Vec::with_capacity(releases);
    for release in 0..releases {
        let before = inverse.iter().rev().zip(&weights[1..]).map(|(a, b)| a * b).sum::<f64>();
        inverse.push(if release == 0 { 1.0 } else { -before });
    }
    let of = |release: usize| inverse[(release + 1).saturating_sub(window)..=release].iter().sum::<f64>();
    let scale = (1_u64 << DECODE_BITS) as f64;
    (0..releases).map(|release| (of(release) * scale).round() as i64).collect()
}

/// The sum of the squares.
fn square(decode: &[i64]) -> f64 {
    decode.iter().map(|part| *part as f64 * *part as f64).sum()
}
