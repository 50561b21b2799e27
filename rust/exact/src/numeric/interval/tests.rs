use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn sums_are_enclosed(a in -1e300..1e300_f64, b in -1e300..1e300_f64) {
        // Knuth's two-sum: a + b = s + rest exactly.
        let s = a + b;
        let c = s - a;
        let rest = (a - (s - c)) + (b - c);
        let sum = Interval::point(a) + Interval::point(b);
        prop_assert!(sum.lo() <= s && s <= sum.hi());
        prop_assert!(rest <= 0.0 || sum.hi() > s);
        prop_assert!(rest >= 0.0 || sum.lo() < s);
    }

    #[test]
    fn products_are_enclosed(a in any::<f64>(), b in any::<f64>()) {
        let product = Interval::point(a) * Interval::point(b);
        if a.is_nan() || b.is_nan() {
            prop_assert_eq!(product, Interval::ENTIRE);
        } else if (a * b).is_finite() {
            // Fused multiply-add gives the sign of the rounding error exactly.
            let rest = a.mul_add(b, -(a * b));
            prop_assert!(rest <= 0.0 || product.hi() > a * b);
            prop_assert!(rest >= 0.0 || product.lo() < a * b);
        }
    }

    #[test]
    fn quotients_and_roots_invert(a in 1e-150..1e150_f64, b in 1e-150..1e150_f64) {
        let quotient = Interval::point(a) / Interval::point(b);
        prop_assert!((quotient * Interval::point(b)).contains(a));
        prop_assert!(quotient.hi().mul_add(b, -a) >= 0.0 && quotient.lo().mul_add(b, -a) <= 0.0);
        let root = Interval::point(a).sqrt();
        prop_assert!(root.hi().mul_add(root.hi(), -a) >= 0.0 && root.lo().mul_add(root.lo(), -a) <= 0.0);
    }

    #[test]
    fn functions_invert(x in -700.0..700.0_f64) {
        prop_assert!(Interval::point(x).exp().ln().contains(x));
        prop_assert!(Interval::point(x).exp_m1().ln_1p().contains(x));
        let e = Interval::point(x).exp() - Interval::ONE;
        let m = Interval::point(x).exp_m1();
        prop_assert!(e.lo() <= m.hi() && m.lo() <= e.hi());
    }

    #[test]
    fn tails_are_decreasing_and_complete(z in -40.0..40.0_f64, step in 0.0..1.0_f64) {
        for tail in [normal_tail, laplace_tail] {
            let (here, beyond) = (tail(Interval::point(z)), tail(Interval::point(z + step)));
            prop_assert!(beyond.lo() <= here.hi());
            prop_assert!((here + tail(Interval::point(-z))).contains(1.0));
            let both = tail(Interval::new(z, z + step));
            prop_assert!(both.lo() <= beyond.lo() && here.hi() <= both.hi());
        }
    }

    #[test]
    fn steps_count_neighbours(x in any::<f64>(), n in 0_u64..40) {
        prop_assume!(x.is_finite());
        let slow = (0..n).fold(x, |y, _| y.next_up());
        prop_assert_eq!(steps_up(x, n).to_bits() << 1, slow.to_bits() << 1);
        let slow = (0..n).fold(x, |y, _| y.next_down());
        prop_assert_eq!(steps_down(x, n).to_bits() << 1, slow.to_bits() << 1);
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "both ends are integers of at most 64 bits")]
    fn integers_are_enclosed(n in any::<i64>()) {
        let i = Interval::integer(n.into());
        prop_assert!(i.lo() as i128 <= n.into() && i.hi() as i128 >= n.into());
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "exact ends of intervals are meant")]
fn extremes_stay_enclosures() {
    let (zero, inf) = (Interval::ZERO, Interval::point(f64::INFINITY));
    let least = f64::from_bits(1);
    assert_eq!(zero * Interval::ENTIRE, zero);
    assert_eq!(inf - inf, Interval::ENTIRE);
    assert_eq!(Interval::ONE / Interval::new(-1.0, 1.0), Interval::ENTIRE);
    assert_eq!(Interval::new(1.0, f64::NAN), Interval::ENTIRE);
    // Underflow and overflow keep the true value inside.
    let tiny = Interval::point(least) * Interval::point(0.25);
    assert!(tiny.lo() <= 0.0 && tiny.hi() >= least);
    let huge = Interval::point(f64::MAX) + Interval::point(f64::MAX);
    assert!(huge.lo() <= f64::MAX && huge.hi() == f64::INFINITY);
    assert!(Interval::point(-800.0).exp().lo() == 0.0 && Interval::point(-800.0).exp().hi() > 0.0);
    assert!(Interval::point(800.0).exp().lo() < f64::INFINITY);
    assert_eq!(zero.ln().lo(), f64::NEG_INFINITY);
    assert_eq!(Interval::point(-1.0).ln(), Interval::ENTIRE);
    assert_eq!(Interval::point(-1.0).ln_1p(), Interval::ENTIRE);
    assert!(normal_tail(inf).lo() == 0.0 && normal_tail(-inf).hi() == 1.0);
    assert!(normal_tail(Interval::point(50.0)).hi() > 0.0);
    assert_eq!(normal_tail(Interval::ENTIRE), Interval::new(0.0, 1.0));
    assert_eq!(laplace_tail(Interval::ENTIRE), Interval::new(0.0, 1.0));
}
