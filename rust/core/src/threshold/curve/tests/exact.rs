//! Every pair of entries satisfies its constraint in exact arithmetic.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use proptest::prelude::*;

use super::super::region::{self, Point};
use super::*;

fn exact(x: f64) -> BigInt {
    let bits = x.to_bits();
    let exponent = i32::try_from(bits >> 52).unwrap() - 1075;
    let mantissa = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
    let shift = exponent + i32::try_from(SCALE).unwrap();
    assert!(x == 0.0 || (shift >= 0 && x.is_normal()));
    if x == 0.0 { BigInt::zero() } else { mantissa << u32::try_from(shift).unwrap() }
}

fn one() -> BigInt {
    BigInt::one() << SCALE
}

/// e^x rounded down: the series of positive terms, cut off.
fn exp_down(x: &BigInt) -> BigInt {
    let (mut sum, mut term) = (one(), one());
    for n in 1..400 {
        term = ((&term * x) >> SCALE) / n;
        sum += &term;
    }
    sum
}

/// The probabilities of a table as multiples of 2^-SCALE, with one beyond the end.
fn probabilities(curve: &Curve) -> Vec<BigInt> {
    let inside = curve.words().iter().map(|&words| BigInt::from(words) << (SCALE - 128));
    inside.chain([one(), one()]).collect()
}

/// Both moments of every pair, in integers; `alpha` is an integer so that they are rational.
fn check_l2(alpha: u32, divergence: f64, delta: f64, quantum: u64) -> usize {
    let curve = Curve::new(CurveKind::L2 { alpha: alpha.into(), divergence, delta }, quantum).unwrap();
    check_points(&curve, alpha, &[Point { divergence, delta }])
}

/// The same for pairs that choose their points.
fn check_region(alpha: u32, epsilon: f64, delta: f64, quantum: u64) -> usize {
    let curve = Curve::new(CurveKind::L2Region { alpha: alpha.into(), epsilon, delta }, quantum).unwrap();
    check_points(&curve, alpha, &region::points(alpha.into(), epsilon, delta).unwrap())
}

/// Every pair of a table satisfies the constraint at one of the points.
fn check_points(curve: &Curve, alpha: u32, points: &[Point]) -> usize {
    let (table, quantum) = (probabilities(curve), curve.quantum);
    for change in 1..=usize::try_from(UNIT / quantum).unwrap() {
        let a = (change as u64 * quantum) as f64 / UNIT as f64;
        let leeways: Vec<_> = points.iter().map(|point| leeway(alpha, *point, a)).collect();
        for (q, p) in table.iter().zip(&table[change.min(table.len() - 1)..]) {
            assert!(q <= p);
            assert!(leeways.iter().any(|(d, allowed)| is_pair(alpha, q, p, d, allowed)), "{change}");
        }
    }
    table.len()
}

/// The approximation and the moment of a point for a change, in integers.
fn leeway(alpha: u32, point: Point, a: f64) -> (BigInt, BigInt) {
    let d = exact(mul_down(point.delta, a * a));
    let x = exact(mul_down(point.divergence, a * a) / 1024.0) * 1024 * (alpha - 1);
    let allowed = ((one() - &d) * exp_down(&x)) >> SCALE;
    (d, allowed)
}

/// (p - d)^alpha q^(1-alpha) + (1-p)^alpha (1-q-d)^(1-alpha) <= allowed, all multiples of 2^-SCALE, multiplied by
/// q^(alpha-1) (1-q-d)^(alpha-1), and the same with the roles exchanged.
fn is_pair(alpha: u32, q: &BigInt, p: &BigInt, d: &BigInt, allowed: &BigInt) -> bool {
    if &(p - q) <= d {
        return true;
    }
    let (above, left, rest) = (p - d, one() - p, one() - q - d);
    if !(q.is_positive() && left.is_positive() && rest.is_positive()) {
        return false;
    }
    let order = alpha - 1;
    let forwards = above.pow(alpha) * rest.pow(order) + left.pow(alpha) * q.pow(order);
    let backwards = q.pow(alpha) * left.pow(order) + rest.pow(alpha) * above.pow(order);
    forwards <= allowed * q.pow(order) * rest.pow(order)
        && backwards <= allowed * above.pow(order) * left.pow(order)
}

#[test]
fn every_pair_of_a_region_satisfies_its_constraint_exactly_at_some_point() {
    let sizes = [
        check_region(10, 1.765, 4.96e-5, UNIT / 12),
        check_region(2, 6.0, 0.3, UNIT / 9),
        check_region(40, 0.6, 1e-6, UNIT / 3),
        check_region(4, 9.0, 1e-9, UNIT / 7 - 5),
        check_region(7, 2.0, 1e-3, UNIT),
    ];
    assert!(sizes.iter().all(|size| *size > 4), "{sizes:?}");
}

/// For alpha = 2, (1 - 1/alpha)^alpha / (alpha - 1) is 1/4: D + (1 - D) e^(R - epsilon) / 4 <= delta, in integers.
#[test]
fn points_convert_to_delta_and_nearly_use_it() {
    for (epsilon, delta) in [(9.0, 1e-3), (6.0, 0.2), (30.0, 1e-9), (16.0, 4.96e-5)] {
        let points = region::points(2.0, epsilon, delta).unwrap();
        assert!(points.len() > 8 && points.last().unwrap().divergence == 0.0);
        assert!(points.is_sorted_by(|a, b| a.divergence > b.divergence && a.delta < b.delta));
        for Point { divergence, delta: approximation } in points {
            let gap = exp_down(&(exact((epsilon - divergence) / 1024.0) * 1024));
            let d = exact(approximation);
            let converted = ((one() - &d) * one() / 4) / gap;
            let (total, limit) = (d + converted, exact(delta));
            // The difference above is one of doubles.
            let slack = &limit >> 44;
            assert!(total <= &limit + &slack, "{epsilon} {delta}");
            assert!(total > limit * 999 / 1000, "{epsilon} {delta}");
        }
    }
    assert!(region::points(2.0, 0.1, 1e-3).is_none());
}

#[test]
fn every_pair_of_an_l2_table_satisfies_its_constraint_exactly() {
    let sizes = [
        check_l2(10, 0.948, 2.4e-5, UNIT / 12),
        check_l2(2, 3.0, 0.1, UNIT / 9),
        check_l2(40, 0.25, 5e-7, UNIT / 3),
        check_l2(3, 8.0, 1e-12, UNIT / 7 - 5),
        check_l2(7, 0.05, 1e-4, UNIT),
        check_l2(5, 1.7, 1e-20, UNIT / 2),
    ];
    assert!(sizes.iter().all(|size| *size > 5), "{sizes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_l2_tables_satisfy_their_constraints(
        alpha in 2_u32..12, divergence in 0.05..4.0_f64, log_delta in -25.0..-1.0_f64, parts in 1_u64..9,
    ) {
        check_l2(alpha, divergence, libm::exp(log_delta), UNIT / parts);
    }

    #[test]
    fn random_regions_satisfy_their_constraints(
        alpha in 2_u32..12, surplus in 0.2..4.0_f64, log_delta in -20.0..-1.0_f64, parts in 1_u64..7,
    ) {
        let epsilon = (surplus - log_delta) / f64::from(alpha - 1);
        check_region(alpha, epsilon, libm::exp(log_delta), UNIT / parts);
    }

    #[test]
    fn random_l1_tables_satisfy_their_constraints(
        epsilon in 0.01..6.0_f64, log_delta in -25.0..-1.0_f64, parts in 1_u64..9,
    ) {
        let (delta, quantum) = (libm::exp(log_delta), UNIT / parts);
        let table = probabilities(&Curve::new(CurveKind::L1 { epsilon, delta }, quantum).unwrap());
        for change in 1..=usize::try_from(UNIT / quantum).unwrap() {
            let a = BigInt::from(change as u64 * quantum);
            let growth = exp_down(&((exact(epsilon / 1024.0) * 1024 * &a) >> 30));
            let d = (exact(delta) * a) >> 30;
            for (q, p) in table.iter().zip(&table[change.min(table.len() - 1)..]) {
                let slack = 1; // the last place of the shifts
                prop_assert!(p <= &(((&growth * q) >> SCALE) + &d + slack));
                prop_assert!(one() - q <= ((&growth * (one() - p)) >> SCALE) + &d + slack);
            }
        }
    }
}
