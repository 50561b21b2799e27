//! Numbers of users or rows beside the released items.

use std::num::NonZeroUsize;

use dpsel_rows::scratch::Scratch;

use super::super::rounds::Rounds;
use super::*;

pub(super) fn counted(mechanism: &str, from: From, nonnegative: bool, rows: Option<u32>) -> SelectRequest {
    let of_rows = rows.map_or(String::new(), |rows| format!(r#", "max_rows_per_item": {rows}"#));
    let request = Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": {}}}, "max_items_per_user": 9,
             "privacy": {{"kind": "approx_dp", "epsilon": 4.0, "delta": 1e-2}}, "mechanism": {mechanism},
             "with_weights": false,
             "counts": {{"share": 0.3, "max_counted_items": 4, "nonnegative": {nonnegative}{of_rows}}}}}"#,
        if matches!(from, From::Pairs) { r#"["item", "more"]"# } else { r#"["item"]"# },
    ));
    request.and_then(Request::into_select).unwrap()
}

/// Some users have a row many times over, and its rows come in several fillings.
fn repeated(users: i64) -> Rows {
    let rows = some_rows(users);
    let again = |part: i64| rows.iter().copied().filter(move |(user, item)| (user + item) % part == 0);
    [rows.clone(), again(2).collect(), again(3).collect(), again(3).cycle().take(3000).collect()].concat()
}

#[test]
fn users_of_released_items_are_counted_as_in_memory() {
    let rows = some_rows(400);
    for (n, from) in ALL.into_iter().enumerate() {
        for mechanism in [MECHANISMS[4], MECHANISMS[6], MECHANISMS[8]] {
            let request = counted(mechanism, from, n % 2 == 0, None);
            let memory = little(2000, 1 + n % 3);
            assert!(same(&rows, from, &request, memory) > 0, "{mechanism}");
            // Users count in public items, too, and in no item that is left out.
            assert!(same(&rows, from, &with_lists(request, from, 1), memory) > 2, "{mechanism}");
        }
    }
}

#[test]
fn what_a_list_covers_is_that_in_memory() {
    use dpsel_core::counting::Rest;
    let rows = repeated(300);
    for (n, from) in ALL.into_iter().enumerate() {
        for mechanism in [MECHANISMS[4], MECHANISMS[8], MECHANISMS[9]] {
            let max_rows_per_user = [None, Some(4), Some(100)][n % 3];
            let rest = Some(Rest { share: 0.1, max_rows_per_user });
            let both = SelectRequest { rest, ..counted(mechanism, from, false, Some(3)) };
            let memory = little(2000, 1 + n % 3);
            for request in [SelectRequest { counts: None, ..both.clone() }, both] {
                assert!(same(&rows, from, &request, memory) > 0, "{mechanism}");
                assert!(same(&rows, from, &with_lists(request, from, 1), memory) > 0, "{mechanism}");
            }
        }
    }
}

#[test]
fn rows_of_released_items_are_counted_as_in_memory() {
    let rows = repeated(300);
    for (n, from) in ALL.into_iter().enumerate() {
        for mechanism in [MECHANISMS[4], MECHANISMS[8], MECHANISMS[9]] {
            let most = [1, 3, 1_000_000][n % 3];
            let request = counted(mechanism, from, n % 2 == 0, Some(most));
            // Buckets that are too large are divided again, and so are those of the rows before any was taken out.
            let (limit, buckets) = [(1 << 40, 5), (250_000, 1), (250_000, 2)][n % 3];
            let memory = Memory { limit, stage: limit / 2, buckets, ..little(2000, 1 + n % 3) };
            assert!(limit > 250_000 || memory.divided(8000, WEIGHED).buckets > buckets);
            assert!(same(&rows, from, &request, memory) > 0, "{mechanism}");
            assert!(same(&rows, from, &with_lists(request, from, 1), memory) > 2, "{mechanism}");
        }
    }
}

/// What is counted changes no decision: the noise of the numbers has the same part of the budget.
#[test]
fn the_items_are_those_beside_numbers_of_users() {
    let (rows, files) = (repeated(300), tempfile::tempdir().unwrap());
    for mechanism in [MECHANISMS[8], MECHANISMS[9], r#"{"name": "greedy_frequency"}"#] {
        let made = |most| {
            let request = counted(mechanism, From::Texts, false, most);
            task::select_partitions(source(&rows, From::Texts, &files), &request, &key(), &Control::default())
                .unwrap()
        };
        let (users, of_rows) = (made(None), made(Some(50)));
        assert!(users.items.num_rows() > 0);
        assert_eq!(users.items.column(0), of_rows.items.column(0), "{mechanism}");
        assert_eq!(
            (users.items.schema().field(1).name(), of_rows.items.schema().field(1).name()),
            (&"users".into(), &"rows".into())
        );
    }
}

/// Released items stay in memory, and so do other things of a job.
#[test]
fn what_counts_takes_the_memory_that_is_left() {
    let (control, folder) = (Control::new(NonZeroUsize::new(2), None), tempfile::tempdir().unwrap());
    let scratch = Scratch::new(ScratchSpace { folder: folder.path().into(), limit: None }).unwrap();
    let stages = Stages { memory: Memory::new(LEAST, &control), control: &control };
    let columns = counted(MECHANISMS[4], From::Texts, false, None).columns;
    let job = ExchangeJob::new(JobSpec::counting(columns, None), key());
    let rounds = Rounds { job, stages, scratch: &scratch };
    control.charge_memory(LEAST / 4 * 3, "released items").unwrap();
    let (counting, _) = rounds.counting(&[Digest(5); 1000]).unwrap();
    assert_eq!(counting.memory.stage, LEAST - control.held_memory());
}
