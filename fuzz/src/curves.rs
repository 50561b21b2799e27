//! Any parameters: a calibration that keeps its promises, or a clean refusal.

use arbitrary::{Arbitrary, Unstructured};
use dpsel_core::rounds::Round;
use dpsel_core::task::Request;
use dpsel_core::threshold::curve::{Curve, CurveKind, CurveSpec};
use dpsel_exact::Error;
use dpsel_exact::accounting::Privacy;
use dpsel_exact::numeric::UNIT;

/// The relative error that is forgiven: the checks here are in doubles, the table is not.
const SLACK: f64 = 1e-9;
/// The pairs of a table that are looked at.
const PAIRS: usize = 2_000;

/// A number from a wide range, or any bits at all.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Number {
    Exponent(i8, u8),
    Bits(u64),
}

impl Number {
    fn value(self) -> f64 {
        match self {
            Self::Exponent(exponent, digits) => {
                10_f64.powf(f64::from(exponent) / 12.0) * (1.0 + f64::from(digits) / 256.0)
            }
            Self::Bits(bits) => f64::from_bits(bits),
        }
    }

    /// Between 0 and 1, if it is a number from the range.
    fn fraction(self) -> f64 {
        match self {
            Self::Exponent(exponent, digits) => {
                Self::Exponent(exponent.saturating_abs().saturating_neg(), digits).value()
            }
            Self::Bits(_) => self.value(),
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Case {
    /// A calibration of a mechanism.
    Mechanism {
        name: u8,
        epsilon: Number,
        delta: Number,
        items: u32,
        share: Number,
        rounds: u8,
        rho: bool,
    },
    /// A curve by its own parameters.
    L1 {
        epsilon: Number,
        delta: Number,
        fineness: u8,
    },
    /// In whole units, with an epsilon for each direction.
    OneUnit {
        adding: Number,
        removing: Number,
        delta: Number,
    },
    L2 {
        alpha: Number,
        divergence: Number,
        delta: Number,
        fineness: u8,
    },
    Continuous {
        alpha: Number,
        divergence: Number,
        delta: Number,
        fineness: u8,
        norm: u16,
    },
    Region {
        alpha: Number,
        epsilon: Number,
        delta: Number,
        fineness: u8,
    },
    ContinuousRegion {
        alpha: Number,
        epsilon: Number,
        delta: Number,
        fineness: u8,
        norm: u16,
    },
}

pub(crate) fn valid(bytes: &[u8]) {
    let Ok(case) = Case::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    match case {
        Case::Mechanism { name, epsilon, delta, items, share, rounds, rho } => {
            let privacy = if rho {
                Privacy::Zcdp { rho: epsilon.value(), delta: delta.fraction() }
            } else {
                Privacy::ApproxDp { epsilon: epsilon.value(), delta: delta.fraction() }
            };
            mechanism(&description(name, share.fraction(), rounds), privacy, items);
        }
        Case::L1 { epsilon, delta, fineness } => {
            table(CurveKind::L1 { epsilon: epsilon.value(), delta: delta.fraction() }, quantum(fineness));
        }
        Case::OneUnit { adding, removing, delta } => {
            let (adding, removing) = (adding.value(), removing.value());
            table(CurveKind::OneUnit { adding, removing, delta: delta.fraction() }, UNIT);
        }
        Case::L2 { alpha, divergence, delta, fineness } => {
            let (alpha, divergence) = (1.0 + alpha.value(), divergence.value());
            table(CurveKind::L2 { alpha, divergence, delta: delta.fraction() }, quantum(fineness));
        }
        Case::Continuous { alpha, divergence, delta, fineness, norm } => {
            let (alpha, divergence) = (1.0 + alpha.value(), divergence.value());
            let norm = UNIT + (UNIT >> 16) * u64::from(norm);
            let delta = delta.fraction();
            table(CurveKind::L2Continuous { alpha, divergence, delta, norm }, quantum(fineness));
        }
        Case::Region { alpha, epsilon, delta, fineness } => {
            let (alpha, epsilon) = (1.0 + alpha.value(), epsilon.value());
            table(CurveKind::L2Region { alpha, epsilon, delta: delta.fraction() }, quantum(fineness));
        }
        Case::ContinuousRegion { alpha, epsilon, delta, fineness, norm } => {
            let (alpha, epsilon) = (1.0 + alpha.value(), epsilon.value());
            let norm = UNIT + (UNIT >> 16) * u64::from(norm);
            let delta = delta.fraction();
            table(CurveKind::L2ContinuousRegion { alpha, epsilon, delta, norm }, quantum(fineness));
        }
    }
}

/// A few quanta to the unit, so that one input does not take seconds; now and then an impossible number.
fn quantum(fineness: u8) -> u64 {
    match fineness {
        0 => 0,
        255 => u64::MAX,
        _ => (UNIT >> (fineness % 5)) + u64::from(fineness / 64),
    }
}

/// Few rounds or passes, so that one input does not take seconds; now and then too many.
fn description(name: u8, share: f64, rounds: u8) -> String {
    let rounds = if rounds > 250 { rounds } else { rounds % 5 };
    let release = if rounds.is_multiple_of(2) { "curve" } else { "noise" };
    match name % 14 {
        0 => r#"{"name": "count_laplace"}"#.into(),
        1 => r#"{"name": "count_gaussian"}"#.into(),
        2 => format!(r#"{{"name": "weighted_laplace", "release": "{release}"}}"#),
        3 => format!(r#"{{"name": "weighted_gaussian", "release": "{release}"}}"#),
        4 => format!(
            r#"{{"name": "policy_laplace", "alpha": {share:e}, "passes": {rounds}, "release": "{release}"}}"#
        ),
        5 => format!(
            r#"{{"name": "policy_gaussian", "alpha": {share:e}, "passes": {rounds}, "release": "{release}"}}"#
        ),
        6 => format!(r#"{{"name": "sips", "rounds": {rounds}, "ratio": {share:e}, "release": "{release}"}}"#),
        7 => r#"{"name": "one_item"}"#.into(),
        8 => r#"{"name": "greedy_frequency"}"#.into(),
        9 => r#"{"name": "unit_greedy"}"#.into(),
        10 => format!(r#"{{"name": "mad", "alpha": {share:e}}}"#),
        11 => r#"{"name": "matching"}"#.into(),
        12 => r#"{"name": "matching", "screening": true}"#.into(),
        _ => format!(r#"{{"name": "steered", "rounds": {rounds}}}"#),
    }
}

/// Whatever is calibrated releases an item of one user with at most delta.
fn mechanism(description: &str, privacy: Privacy, items: u32) {
    let columns = r#"{"user": "user", "items": ["item"]}"#;
    let Ok(privacy_json) = serde_json::to_string(&privacy) else { return };
    let request = format!(
        r#"{{"task": "select", "columns": {columns}, "privacy": {privacy_json}, "max_items_per_user": {items},
            "mechanism": {description}, "with_weights": false}}"#
    );
    let calibration = match Request::from_json(&request)
        .and_then(Request::into_select)
        .and_then(|request| request.calibrate())
    {
        Ok(calibration) => calibration,
        Err(Error::Internal(what)) => panic!("an internal error: {what}"),
        Err(_) => return,
    };
    assert!(!calibration.rounds.is_empty(), "no round");
    let (Privacy::ApproxDp { delta, .. } | Privacy::Zcdp { delta, .. } | Privacy::PureDp { epsilon: delta }) =
        privacy;
    let lone: f64 = calibration.rounds.iter().map(lone_item).sum();
    assert!(lone <= delta * (1.0 + SLACK), "an item of one user: {lone:e} of {delta:e}");
}

/// The probability that a round releases an item that one user holds alone and has nothing else.
fn lone_item(round: &Round) -> f64 {
    let quantum = round.rule.quantum();
    if let Some(spec) = round.rule.curve() {
        // Fine tables were just made by the calibration, and are remembered.
        table_of(spec);
    }
    if round.rule.noisy().is_none() && round.rule.curve().is_none() {
        // A single scored or screening round has no law of its own; the conformance tests cover them.
        return 0.0;
    }
    round.rule.keep_probability(i128::from(round.weighting.weight_in_quanta(1, quantum)))
}

fn table(curve: CurveKind, quantum: u64) {
    match Curve::new(curve, quantum) {
        Ok(made) => pairs(curve, quantum, made.words()),
        Err(Error::Internal(what)) => panic!("an internal error: {what}"),
        Err(_) => (),
    }
}

fn table_of(spec: CurveSpec) {
    if let Ok(curve) = Curve::of(spec.curve, spec.quantum) {
        pairs(spec.curve, spec.quantum, curve.words());
    }
}

/// Entries never fall, and pairs of them satisfy the inequality that defines the curve.
fn pairs(curve: CurveKind, quantum: u64, words: &[u128]) {
    assert_eq!(words.first(), Some(&0), "an item without weight is released");
    assert!(words.is_sorted(), "a curve that falls");
    let norm = curve.norm();
    let span = usize::try_from(norm / quantum).unwrap_or(0).min(words.len() - 1);
    for at in 0..PAIRS.min(words.len() * span) {
        let (here, change) = (at.wrapping_mul(0x9e37_79b9) % words.len(), 1 + at % span);
        let there = words.get(here + change).copied();
        if there.is_none() && curve.is_continuous() {
            continue;
        }
        let part = (change as f64) * (quantum as f64) / norm as f64;
        close(curve, part, words[here], there);
    }
}

/// A product in which nothing times anything is nothing.
fn times(factor: f64, probability: f64) -> f64 {
    if probability == 0.0 { 0.0 } else { factor * probability }
}

/// Two probabilities with their complements and the step in full precision.
#[derive(Debug, Clone, Copy)]
struct Pair {
    q: f64,
    not_p: f64,
    step: f64,
}

impl Pair {
    /// By how much the pair needs more than a divergence of order `alpha` beside an approximation, as a factor.
    fn excess(&self, alpha: f64, divergence: f64, approximation: f64) -> f64 {
        if self.step <= approximation * (1.0 + SLACK) {
            return 0.0;
        }
        // The moments of ((p - d), 1 - p) and (q, 1 - q - d), both times 1 / (1 - d), less one.
        let (left, inner) = (self.not_p, self.step - approximation);
        let rise = (alpha - 1.0) * (inner / self.q).ln_1p();
        let fall = (alpha - 1.0) * (inner / left).ln_1p();
        let forwards = (self.q + inner) * rise.exp_m1() + left * (-fall).exp_m1();
        let backwards = self.q * (-rise).exp_m1() + (left + inner) * fall.exp_m1();
        let allowed = (1.0 - approximation) * ((alpha - 1.0) * divergence).exp_m1();
        (forwards.max(backwards) - 1e-15) / allowed
    }

    /// The least excess at any approximation and divergence that convert to (epsilon, delta), for a change of this
    /// square.
    fn least_excess(&self, alpha: f64, epsilon: f64, delta: f64, square: f64) -> f64 {
        let order = alpha - 1.0;
        let factor = order * order.ln() - alpha * alpha.ln();
        let alone = (factor - order * epsilon).exp();
        if self.step <= (delta - alone) / (1.0 - alone) * square * (1.0 + SLACK) {
            return 0.0;
        }
        // The logarithm of the part of delta that is left to the divergence.
        let at = |log: f64| {
            let approximation = -delta * log.exp_m1();
            let converted = (delta - approximation) / (1.0 - approximation);
            let divergence = epsilon + (converted.ln() - factor) / order;
            if divergence > 0.0 {
                self.excess(alpha, divergence * square, approximation * square)
            } else {
                f64::INFINITY
            }
        };
        let (mut best, mut width) = (0.0, 0.125);
        for step in 0..80 {
            let log = -f64::from(step) * width;
            best = if at(log) < at(best) { log } else { best };
        }
        while width > 1e-9 {
            width *= 0.5;
            for log in [best - width, (best + width).min(0.0)] {
                best = if at(log) < at(best) { log } else { best };
            }
        }
        at(best)
    }
}

/// Probabilities of 2^-128 words, `None` for all of them, with their complements and the step in full precision.
fn close(curve: CurveKind, part: f64, below: u128, above: Option<u128>) {
    let unit = 2_f64.powi(-128);
    let q = below as f64 * unit;
    let not_p = above.map_or(0.0, |words| (u128::MAX - words) as f64 * unit + unit);
    let not_q = (u128::MAX - below) as f64 * unit + unit;
    let step = above.map_or(not_q, |words| (words - below) as f64 * unit);
    let pair = Pair { q, not_p, step };
    match curve {
        CurveKind::L1 { epsilon, delta } => {
            let allowed = delta * part + times((epsilon * part).exp_m1(), q.min(not_p));
            assert!(step <= allowed * (1.0 + SLACK), "{curve:?}: a step of {step:e}, {allowed:e} allowed");
        }
        CurveKind::OneUnit { adding, removing, delta } => {
            let grown = times(adding.exp_m1(), q).min(times(removing.exp_m1(), not_p));
            let allowed = delta + grown;
            assert!(step <= allowed * (1.0 + SLACK), "{curve:?}: a step of {step:e}, {allowed:e} allowed");
        }
        CurveKind::L2 { alpha, divergence, delta }
        | CurveKind::L2Continuous { alpha, divergence, delta, .. } => {
            let excess = pair.excess(alpha, divergence * part * part, delta * part * part);
            assert!(excess <= 1.0 + SLACK, "{curve:?} {part}: {excess} of what is allowed; {pair:?}");
        }
        CurveKind::L2Region { alpha, epsilon, delta }
        | CurveKind::L2ContinuousRegion { alpha, epsilon, delta, .. } => {
            let excess = pair.least_excess(alpha, epsilon, delta, part * part);
            assert!(excess <= 1.0 + SLACK, "{curve:?} {part}: {excess} of what is allowed; {pair:?}");
        }
    }
}
