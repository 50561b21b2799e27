//! Mechanisms whose users react to each other.

use super::*;
use crate::ingest::Prior;

/// With noise and with a curve, of one pass and of several.
pub(super) const REACTIVE: [&str; 12] = [
    r#"{"name": "policy_gaussian", "alpha": 5.0, "passes": 1, "release": "noise"}"#,
    r#"{"name": "policy_gaussian", "alpha": 3.0, "passes": 3, "release": "curve"}"#,
    r#"{"name": "policy_laplace", "alpha": 5.0, "passes": 2, "release": "noise"}"#,
    r#"{"name": "policy_laplace", "alpha": 3.0, "passes": 2, "release": "curve"}"#,
    r#"{"name": "unit_greedy"}"#,
    r#"{"name": "unit_greedy", "order": "prior"}"#,
    r#"{"name": "greedy_frequency"}"#,
    r#"{"name": "greedy_frequency", "order": "prior"}"#,
    r#"{"name": "greedy_frequency", "calibration": "published"}"#,
    r#"{"name": "mad", "alpha": 3.0}"#,
    r#"{"name": "mad2r", "alpha": 3.0}"#,
    // Published weights show what a user gave to the items that it alone holds.
    r#"{"name": "policy_gaussian", "alpha": 5.0, "passes": 2, "release": "noise"}"#,
];

fn reactive(mechanism: &str, from: From, bound: u32) -> SelectRequest {
    // Items of the table first, from the last one down, though others have more rows.
    let ranked: Rows = (0..40).map(|rank| (rank, 200 - rank)).collect();
    let prior = mechanism.contains("prior").then(|| Prior::new(vec![batch(&ranked, from)]).into());
    SelectRequest { prior, ..request(mechanism, from, bound, 3.0) }
}

#[test]
fn users_who_react_make_the_release_of_memory() {
    let rows = some_rows(400);
    for (n, mechanism) in REACTIVE.iter().enumerate() {
        for from in [From::Integers, From::Texts, From::File] {
            let found = same(&rows, from, &reactive(mechanism, from, 9), little(2000, 1 + n % 3));
            assert!((1..280).contains(&found), "{mechanism}: {found}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn few_users_who_react_make_the_release_of_memory(
        rows in prop::collection::vec((0_i64..12, -1_i64..8), 1..60),
        mechanism in prop::sample::select(&REACTIVE[..]),
        bound in 1_u32..4,
        threads in 1_usize..4,
        partitions in 1_u32..9,
    ) {
        let memory = Memory { partitions, ..little(0, threads) };
        same(&rows, From::Integers, &reactive(mechanism, From::Integers, bound), memory);
    }
}

/// Users whose rows of one item come in several fillings: all of them count for the order.
#[test]
fn rows_of_a_user_count_over_all_fillings() {
    let mut rows = some_rows(400);
    for (user, item) in some_rows(400).into_iter().filter(|(user, item)| (user + item) % 3 == 0) {
        rows.extend([(user, item); 3]);
    }
    for mechanism in [REACTIVE[4], REACTIVE[6]] {
        let request = reactive(mechanism, From::Integers, 3);
        assert!(same(&rows, From::Integers, &request, little(1000, 2)) > 0);
    }
}

#[test]
fn shared_items_beyond_memory_are_an_error_that_says_what_each_takes() {
    let files = tempfile::tempdir().unwrap();
    for mechanism in [REACTIVE[0], REACTIVE[10]] {
        let (request, control) = (reactive(mechanism, From::Integers, 9), Control::default());
        let memory = Memory { shared: 20, ..little(2000, 2) };
        let rows = source(&some_rows(400), From::Integers, &files);
        let made = on_disk(rows, &request, memory, None, &control).map_err(|error| error.to_string());
        assert!(made.unwrap_err().contains("600 bytes of the limit each"), "{mechanism}");
    }
}

/// A user whose rows come twice does not share its items with anybody.
#[test]
fn rows_that_come_twice_make_no_item_shared() {
    // More than a batch, so that rows come again in another filling.
    let own: Rows = (0..8000).map(|n| (n / 5, 1000 + n)).collect();
    let shared: Rows = (0..900).map(|n| (n / 3, n % 15)).collect();
    let rows = [own.clone(), shared.clone(), own, shared].concat();
    for mechanism in [REACTIVE[0], REACTIVE[4], REACTIVE[9], REACTIVE[10]] {
        for table in [0, 2000] {
            let memory = Memory { shared: 20, ..little(table, 2) };
            let found = same(&rows, From::Integers, &reactive(mechanism, From::Integers, 9), memory);
            assert!(found > 10, "{mechanism}: {found}");
        }
    }
}

/// So small a limit that all partitions have to be divided.
#[test]
fn divided_partitions_make_the_release_of_memory() {
    let rows = some_rows(400);
    for mechanism in MECHANISMS.iter().chain(&REACTIVE) {
        let memory = Memory { limit: 150_000, stage: 75_000, partitions: 2, ..little(2000, 2) };
        assert!(memory.divided(8000).partitions > 2);
        let request = if REACTIVE.contains(mechanism) {
            reactive(mechanism, From::Integers, 9)
        } else {
            request(mechanism, From::Integers, 9, 3.0)
        };
        assert!(same(&rows, From::Integers, &request, memory) > 0, "{mechanism}");
    }
}
