//! Numbers of users beside the released items.

use super::*;

fn counted(mechanism: &str, from: From, nonnegative: bool) -> SelectRequest {
    let request = Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": {}}}, "max_items_per_user": 9,
             "privacy": {{"kind": "approx_dp", "epsilon": 4.0, "delta": 1e-2}}, "mechanism": {mechanism},
             "with_weights": false, "counts": {{"share": 0.3, "max_counted_items": 4, "nonnegative": {nonnegative}}}}}"#,
        if matches!(from, From::Pairs) { r#"["item", "more"]"# } else { r#"["item"]"# },
    ));
    request.and_then(Request::into_select).unwrap()
}

#[test]
fn users_of_released_items_are_counted_as_in_memory() {
    let rows = some_rows(400);
    for (n, from) in ALL.into_iter().enumerate() {
        for mechanism in [MECHANISMS[4], MECHANISMS[6], MECHANISMS[8], r#"{"name": "mad", "alpha": 3.0}"#] {
            let request = counted(mechanism, from, n % 2 == 0);
            let memory = little(2000, 1 + n % 3);
            assert!(same(&rows, from, &request, memory) > 0, "{mechanism}");
            // Users count in public items, too, and in no item that is left out.
            assert!(same(&rows, from, &with_lists(request, from, 1), memory) > 2, "{mechanism}");
        }
    }
}
