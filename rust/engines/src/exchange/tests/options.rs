//! Options that come before the rounds or lower their weights: public lists, looks, least numbers of users.

use std::sync::Arc;

use dpsel_core::counting::{CountedUsers, Rest};
use dpsel_core::look::Quantile;
use dpsel_core::task::ListStamp;
use dpsel_exact::accounting::L0Bound;
use dpsel_rows::ingest::PublicList;

use super::*;

/// The request with a list of items that never come out, and one of items that do in any case.
pub(super) fn with_lists(
    request: SelectRequest,
    table: Made,
    [excluded, public]: [&[i64]; 2],
) -> SelectRequest {
    let list = |items: &[i64]| {
        let rows = table(&items.iter().map(|item| (0, *item)).collect::<Rows>());
        Some(Arc::new(PublicList::new(rows.schema(), vec![rows])))
    };
    let stamp = Some(ListStamp { items: 3, sha256: "0".repeat(64) });
    SelectRequest {
        exclude: stamp.clone(),
        excluded: list(excluded),
        public_items: stamp,
        public: list(public),
        ..request
    }
}

pub(super) fn counted(request: SelectRequest, most: Option<u32>) -> SelectRequest {
    let max_counted_items = L0Bound::new(4).unwrap();
    let counts = CountedUsers { share: 0.3, max_counted_items, nonnegative: false, max_rows_per_item: most };
    let rest = Some(Rest { share: 0.1, max_rows_per_user: most });
    SelectRequest { counts: Some(counts), rest, ..request }
}

pub(super) const QUANTILE: Option<Quantile> = Some(Quantile { quantile: 0.7, share: 0.1 });

#[test]
fn public_lists_are_taken_out_and_come_out_as_in_one_process() {
    let rows = some_rows();
    for (n, mechanism) in MECHANISMS.into_iter().enumerate() {
        let (asked, made) = (request(mechanism, 9, false), [table as Made, texts][n % 2]);
        let listed = with_lists(asked, made, [&[0, 1, 999], &[2, 3, 500, -1]]);
        assert!(same(made, &rows, &listed, 1 + n % 4) > 4, "{mechanism}");
        // Public items are counted, whether anybody has them or not.
        for most in [None, Some(3)] {
            let asked = counted(listed.clone(), most);
            assert!(same(made, &rows, &asked, 1 + n % 3) > 4, "{mechanism}");
            // And they are in the list that is compared with all that users hold.
            let alone = SelectRequest { counts: None, ..asked };
            assert!(same(made, &rows, &alone, 1 + n % 3) > 4, "{mechanism}");
        }
    }
}

#[test]
fn a_look_sees_all_users_once_and_none_of_the_lists() {
    let rows = some_rows();
    let lists: [&[i64]; 2] = [&[0, 1], &[2, 3, 500]];
    for (n, mechanism) in [MECHANISMS[5], MECHANISMS[8]].into_iter().enumerate() {
        let asked = SelectRequest { quantile: QUANTILE, ..request(mechanism, 24, false) };
        assert!(same(texts, &rows, &asked, 1 + n) > 4, "{mechanism}");
        let listed = with_lists(asked, texts, lists);
        assert!(same(texts, &rows, &listed, 4 - n) > 4, "{mechanism}");
        assert!(same(texts, &rows, &counted(listed, Some(2)), 1 + n) > 4, "{mechanism}");
    }
}

#[test]
fn every_released_item_has_its_least_number_of_users() {
    let rows = some_rows();
    for mechanism in &MECHANISMS[..2] {
        let asked = request(mechanism, 9, true);
        let plain = same(table, &rows, &asked, 3);
        let found = same(table, &rows, &SelectRequest { min_users: 20, ..asked }, 3);
        assert!((1..plain).contains(&found), "{mechanism}: {found} of {plain}");
    }
}

#[test]
fn what_needs_all_users_at_once_is_refused_with_the_memory_and_what_works() {
    let refused = |mechanism: &str| Selection::check(&request(mechanism, 9, false)).unwrap_err().to_string();
    for (mechanism, name) in [
        (r#"{"name": "mad", "alpha": 3.0}"#, "Mad"),
        (
            r#"{"name": "matching_or", "otherwise": {"name": "steered", "rounds": 5}, "share": 0.01}"#,
            "a look that may choose Matching",
        ),
    ] {
        let error = refused(mechanism);
        let [begin, end] = [
            format!("Spark does not run {name}, which needs all rows in memory: about "),
            "; pass mechanism=dpsel.Steered(reach=3) or mechanism=dpsel.Sips(), or call \
             dpsel.select_partitions on one machine"
                .into(),
        ];
        assert!(error.starts_with(&begin) && error.ends_with(&end), "{error}");
    }
    for mechanism in MECHANISMS {
        Selection::check(&request(mechanism, 9, false)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_lists_and_any_limit_make_the_local_release(
        rows in prop::collection::vec((0_i64..12, 0_i64..6), 1..60),
        excluded in prop::collection::vec(0_i64..3, 0..3),
        public in prop::collection::vec(3_i64..8, 0..4),
        bound in 1_u32..5,
        looks: bool,
        counts: bool,
    ) {
        for mechanism in [MECHANISMS[5], MECHANISMS[7]] {
            let asked = SelectRequest { quantile: QUANTILE.filter(|_| looks), ..request(mechanism, bound, false) };
            let asked = with_lists(asked, table, [&excluded, &public]);
            let asked = if counts { counted(asked, Some(2)) } else { asked };
            same(table, &rows, &asked, 3);
        }
    }
}
