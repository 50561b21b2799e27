//! The noise of counts, and the bounds of numbers of outcomes that are too many to enumerate.

use super::*;

#[test]
fn discrete_laplace_noise() {
    for rate in [0.3, 2.5] {
        let mut coins = coins(100);
        let of = |z: i64| (vec![(z + 200) as u64], (-rate * z.abs() as f64).exp());
        let law = normalised((-200..=200).map(of));
        assert_both_ways(&law, || vec![u64::try_from(laplace(rate, &mut coins) + 200).unwrap()]);
    }
}

#[test]
fn discrete_gaussian_noise() {
    for sigma in [0.5, 1.0, 7.3] {
        let square = checked_square_rate(0.5 / (sigma * sigma)).unwrap();
        let mut coins = coins(102);
        let of = |z: i64| (vec![(z + 200) as u64], (-square * (z * z) as f64).exp());
        let law = normalised((-200..=200).map(of));
        assert_both_ways(&law, || vec![u64::try_from(gaussian(square, &mut coins) + 200).unwrap()]);
    }
}

#[test]
fn gaussian_noise_of_any_scale() {
    for square in [1e-24, 3e-15, 1e-5, 0.5, 40.0, 1e6, 1e300] {
        let mut coins = coins(103);
        let square = checked_square_rate(square).unwrap();
        let squares =
            (0..400).map(|_| gaussian(square, &mut coins) as f64).map(|z| z * z * square).sum::<f64>();
        // Half on average, in units of the variance; beside integers that are far apart it is next to nothing.
        assert!(squares / 400.0 < 0.75, "{square}");
        assert!(squares / 400.0 > 0.3 || square > 0.1, "{square}");
    }
    assert!(checked_square_rate(1e-25).is_err());
}

#[test]
fn noise_within_a_radius() {
    for rate in [0.8, 3.0] {
        let mut coins = coins(101);
        let law_of_radius = Radius { items: 2, rate };
        let levels = LossLevels::new(&law_of_radius);
        let side = 60_i64;
        let plane = (-side..=side).flat_map(|a| (-side..=side).map(move |b| (a, b)));
        let of = |(a, b): (i64, i64)| {
            (vec![(a + side) as u64, (b + side) as u64], (-rate * a.abs().max(b.abs()) as f64).exp())
        };
        let law = normalised(plane.map(of));
        assert_both_ways(&law, || {
            let radius = levels.draw(&mut coins);
            (0..2).map(|_| u64::try_from(within(radius, &mut coins) + i128::from(side)).unwrap()).collect()
        });
    }
}

fn assert_enclosed(law: &impl crate::top_k::draws::loss_levels::LevelLaw, counted: &str) {
    use num_traits::ToPrimitive;

    let mut before = num_bigint::BigUint::default();
    for level in [0, 1, 5, 37, 200, 1000, 1999, 99_999, 100_000] {
        let exact = law.exact_size(level);
        assert!(exact >= before, "{counted} {level}");
        // The same power of two off both.
        let by = exact.bits().saturating_sub(52);
        let scaled = law.size(level).shifted(-i64::try_from(by).unwrap()).to_interval();
        let mantissa = (&exact >> by).to_f64().unwrap();
        assert!(scaled.lo() <= mantissa + 1.0 && mantissa <= scaled.hi(), "{counted} {level}");
        assert!(scaled.hi() / scaled.lo() < 1.0 + 1e-9);
        before = exact;
    }
}

/// Sizes on counts too many to enumerate: bounds enclose the exact numbers, which never fall.
#[test]
fn bounds_enclose_exact_sizes() {
    let counts: Vec<i64> = (1..3000).map(|rank| 100_000 / rank).collect();
    let ranking = ranking(&counts, 50, 1 << 20);
    assert_enclosed(&Sequences::new(&ranking, 0.5), "sequences");
    assert_enclosed(&Sets::new(&ranking, 0.5), "sets");
    assert_enclosed(&Radius { items: 300, rate: 0.1 }, "radius");
}
