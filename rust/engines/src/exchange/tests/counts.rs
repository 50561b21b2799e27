//! Numbers of users or rows beside released items.

use dpsel_core::counting::{CountedUsers, Rest};
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::UNIT;

use super::*;
use crate::exchange::wire::unpack_weights;

/// A request with numbers; users of more than four released items count less in each of them.
fn counted(mechanism: &str, bound: u32, nonnegative: bool) -> SelectRequest {
    counted_rows(mechanism, bound, nonnegative, None)
}

fn counted_rows(mechanism: &str, bound: u32, nonnegative: bool, most: Option<u32>) -> SelectRequest {
    let max_counted_items = L0Bound::new(4).unwrap();
    let counts = CountedUsers { share: 0.3, max_counted_items, nonnegative, max_rows_per_item: most };
    SelectRequest { counts: Some(counts), ..request(mechanism, bound, false) }
}

/// Rows that stand in many tasks, some of them very often.
fn repeated() -> Rows {
    let rows = some_rows();
    let again = |part: i64| rows.iter().copied().filter(move |(user, item)| (user + item) % part == 0);
    let often: Rows = again(7).take(5).cycle().take(900).collect();
    [rows.clone(), again(2).collect(), again(3).collect(), often].concat()
}

#[test]
fn rows_of_released_items_are_counted_as_in_one_process() {
    let rows = repeated();
    for (n, mechanism) in [MECHANISMS[1], MECHANISMS[5], MECHANISMS[8]].into_iter().enumerate() {
        for most in [1, 3, 1_000_000] {
            let asked = counted_rows(mechanism, 2, false, Some(most));
            let found = same(texts, &rows, &asked, 1 + 2 * n);
            assert!(found > 4, "{mechanism}: {found}");
        }
    }
}

/// The report has the numbers, and it is compared.
#[test]
fn what_a_list_covers_is_that_of_one_process() {
    let rows = repeated();
    for (n, mechanism) in MECHANISMS.into_iter().enumerate() {
        for max_rows_per_user in [None, Some(1), Some(7)] {
            let rest = Some(Rest { share: 0.1, max_rows_per_user });
            let alone = SelectRequest { rest, ..request(mechanism, 2, false) };
            assert!(same(texts, &rows, &alone, 1 + n % 4) > 4, "{mechanism}");
            let beside = SelectRequest { rest, ..counted_rows(mechanism, 2, false, Some(3)) };
            assert!(same(texts, &rows, &beside, 1 + n % 3) > 4, "{mechanism}");
        }
    }
    // Nothing is released, and all is in the rest.
    let rest = Some(Rest { share: 0.1, max_rows_per_user: Some(7) });
    let nothing = SelectRequest { rest, ..request(MECHANISMS[1], 2, false) };
    assert_eq!(same(texts, &[(1, 2), (1, 3), (2, 3), (2, 3)], &nothing, 3), 0);
}

#[test]
fn sums_of_the_rest_that_are_damaged_or_not_asked_for_are_errors() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let rest = Some(Rest { share: 0.1, max_rows_per_user: None });
    let selection =
        Selection::new(SelectRequest { rest, ..request(MECHANISMS[5], 9, false) }, &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), table, &rows, 2);
    let released = engine.decided(1);
    let sums = engine.rest(&released);
    let publish = |selection: &Selection, rest: Option<&Packed>| {
        selection.publish(&[], &Decisions::unpack(&released).unwrap(), (None, rest), &schema)
    };
    assert!(publish(&selection, Some(&sums)).is_ok());
    assert!(publish(&selection, None).is_err());
    for damaged in [&sums.bytes()[1..], &sums.bytes()[8..]] {
        assert!(publish(&selection, Some(&damaged.to_vec().into())).is_err());
    }
    let without = Selection::new(request(MECHANISMS[5], 9, false), &schema, key()).unwrap();
    assert!(publish(&without, Some(&sums)).is_err());
    assert!(without.job().count_rest(ReleasedSet::default()).is_err());
}

#[test]
fn users_of_released_items_are_counted_as_in_one_process() {
    let rows = some_rows();
    for (n, mechanism) in MECHANISMS.into_iter().enumerate() {
        // Users hold many more items than they keep.
        let found = same(texts, &rows, &counted(mechanism, 2, n % 2 == 0), 1 + n % 4);
        assert!(found > 4, "{mechanism}: {found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn few_rows_have_the_numbers_of_one_process(
        rows in prop::collection::vec((0_i64..12, 0_i64..6), 1..60), buckets in 1_usize..5, bound in 1_u32..4,
    ) {
        for mechanism in [MECHANISMS[5], MECHANISMS[7]] {
            same(table, &rows, &counted(mechanism, bound, false), buckets);
            let twice: Rows = rows.iter().chain(&rows[..rows.len() / 2]).copied().collect();
            same(table, &twice, &counted_rows(mechanism, bound, false, Some(2)), buckets);
        }
    }
}

/// What a task sends is that of one user at most by its norm, whatever the user holds and keeps.
#[test]
fn a_user_adds_its_norm_and_noise_comes_before_the_driver() {
    let rows: Rows = (0..200).map(|item| (1, item)).collect();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(counted(MECHANISMS[5], 2, false), &schema, key()).unwrap();
    let (job, engine) = (selection.job(), Engine::new(selection.job(), table, &rows, 1));
    let mut digests = Vec::new();
    for batch in engine.contributions.concat() {
        for (_, packed) in bucketed_values(&batch).unwrap() {
            PackedUsers::unpack(packed, &Dictionaries::new(&key()), &mut digests).unwrap();
        }
    }
    let all = Decisions::pack(digests.iter().map(|item| (*item, 0)));
    let released = engine.released_set(&all);
    let sent = run(job.count_released(BUCKETS, released).unwrap(), &engine.contributions[0]);
    let mut sums = Vec::new();
    unpack_weights(&packed(&sent), &mut sums).unwrap();
    assert_eq!(sums.len(), 200);
    let squares: u128 = sums.iter().map(|(_, sum)| u128::from(*sum).pow(2)).sum();
    let most = u128::from(UNIT).pow(2) * 4;
    assert!(squares <= most && squares > most / 100 * 99, "{squares} of {most}");
    let noisy = engine.noisy_counts(&all);
    let numbers: std::collections::BTreeSet<i64> = noisy.iter().map(|(_, users)| users).collect();
    assert!(noisy.len() == 200 && numbers.len() > 5, "{numbers:?}");
}

#[test]
fn a_number_that_is_missing_or_not_asked_for_is_an_error() {
    let rows = some_rows();
    let schema: Schema = table(&rows).schema().as_ref().clone();
    let selection = Selection::new(counted(MECHANISMS[5], 9, false), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), table, &rows, 2);
    let released = engine.decided(1);
    let users = engine.noisy_counts(&released);
    let publish = |selection: &Selection, users: Option<&Decisions>| {
        selection.publish(&[], &Decisions::unpack(&released).unwrap(), (users, None), &schema)
    };
    assert!(publish(&selection, Some(&users)).is_ok());
    let fewer = Decisions::unpack(&Decisions::pack(users.iter().skip(1))).unwrap();
    let error = publish(&selection, Some(&fewer)).unwrap_err();
    assert!(error.to_string().contains("write the table out first"), "{error}");
    // An item that was counted and not released: users counted less in the others for it.
    let mut packed = Decisions::pack(users.iter());
    Decisions::push(Digest(77), 5, &mut packed);
    assert!(publish(&selection, Some(&Decisions::unpack(&packed).unwrap())).is_err());
    assert!(publish(&selection, None).is_err());
    let without = Selection::new(request(MECHANISMS[5], 9, false), &schema, key()).unwrap();
    assert!(publish(&without, Some(&users)).is_err());
    assert!(without.job().noisy_counts().is_err());
    assert!(without.job().count_released(BUCKETS, ReleasedSet::default()).is_err());
    assert!(selection.job().count_released(0, ReleasedSet::default()).is_err());
}
