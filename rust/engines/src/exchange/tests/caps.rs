//! Scored rounds in which users reach their caps, on both engines.

use super::*;

/// Users who all hold the item 0 and about `items` of 1,200 others, none of which can reach the threshold.
///
/// The others are abandoned while the item 0 is still short of its target. Then it gets all the weight, up to the cap.
pub(crate) fn rare_and_common(users: i64, items: i64) -> Vec<(i64, i64)> {
    let mut state = 11_u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below).cast_signed()
    };
    let mut rows = Rows::new();
    for user in 0..users {
        rows.push((user, 0));
        rows.extend((0..items - draw(30)).map(|_| (user, 1 + draw(1_200))));
    }
    // Users who also have caps, of few items that nobody else holds. They come in between.
    for user in 1_000..1_800 {
        rows.extend((0..34).map(|n| (user, 100 * user + n)));
    }
    // So the users of a bucket come in another order with each of its batches.
    rows.sort_by_key(|(user, item)| (user * 7_919 + item * 104_729) % 10_007);
    rows
}

/// The number of sizes of users for which the cap is less than the norm.
fn binding(request: &SelectRequest) -> usize {
    let calibration = request.calibrate().unwrap();
    let sizes = &calibration.scoring().unwrap().1.sizes;
    sizes.iter().filter(|size| size.cap < size.norm).count()
}

fn approx_dp(epsilon: f64, delta: f64) -> String {
    format!(r#"{{"kind": "approx_dp", "epsilon": {epsilon:?}, "delta": {delta:e}}}"#)
}

#[test]
fn users_with_caps_make_the_local_release() {
    let zcdp = |rho: f64| format!(r#"{{"kind": "zcdp", "rho": {rho:?}, "delta": 1e-9}}"#);
    let cases = [
        // Few items more than there is a cap from.
        (approx_dp(3.0, 1e-2), 60, rare_and_common(60, 62)),
        (approx_dp(8.0, 1e-2), 60, rare_and_common(60, 62)),
        (zcdp(2.0), 100, rare_and_common(40, 102)),
        // Caps that users reach.
        (approx_dp(20.0, 1e-9), 300, rare_and_common(24, 320)),
        (approx_dp(20.0, 1e-9), 270, rare_and_common(24, 320)),
        (zcdp(2.0), 300, rare_and_common(26, 330)),
    ];
    for (privacy, bound, rows) in cases {
        for rounds in [1, 6] {
            let mechanism = format!(r#"{{"name": "steered", "rounds": {rounds}}}"#);
            let request = request_under(&privacy, &mechanism, bound, true);
            assert!(binding(&request) > 0, "{privacy}");
            let found = same(texts, &rows, &request, 5);
            assert!((1..300).contains(&found) || rounds == 1, "{privacy} {bound}: {found}");
        }
    }
}

#[test]
fn no_rows_release_nothing() {
    for rounds in [1, 6] {
        let mechanism = format!(r#"{{"name": "steered", "rounds": {rounds}}}"#);
        assert_eq!(same(table, &[], &request_under(&approx_dp(3.0, 1e-2), &mechanism, 60, true), 3), 0);
    }
}
