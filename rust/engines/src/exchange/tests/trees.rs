//! Nodes of a tree: closed lists, limits by the nodes above each, and a closed answer, as in one process.

use arrow_array::{ArrayRef, Int64Array, StringArray};
use dpsel_core::counting::Rest;
use dpsel_rows::ingest::{Columns, Levels, NGrams, Unit};
use std::sync::Arc;

use super::options::{QUANTILE, counted, with_lists};
use super::*;
use crate::exchange::wire::{item_hash, push_frequent};

/// Nodes that many users hold, and nodes that one user alone holds, some of them below each other.
fn more_rows() -> Rows {
    let alone = (0..400).flat_map(|user| [0, 1, 2, 3, 5].map(|item| (user, 1008 + 16 * user + item)));
    some_rows().into_iter().chain(alone).collect()
}

/// Of nodes that paths name.
fn tree(mechanism: &str, bound: u32) -> SelectRequest {
    of_nodes(request(mechanism, bound, false))
}

fn of_nodes(request: SelectRequest) -> SelectRequest {
    let levels = Some(Levels::Separator("/".into()));
    SelectRequest { columns: Columns { levels, ..request.columns }, ..request }
}

/// Of n-grams of the words of paths.
fn of_ngrams(request: SelectRequest, (min, max): (u8, u8)) -> SelectRequest {
    let ngrams = Some(NGrams { min, max, unit: Unit::Words });
    SelectRequest { columns: Columns { ngrams, ..request.columns }, ..request }
}

#[test]
fn ngrams_make_the_local_release() {
    let rows = more_rows();
    for (n, mechanism) in MECHANISMS.into_iter().enumerate() {
        for (bound, lengths, with_weights) in [(3, (1, 2), false), (9, (2, 4), false), (100, (1, 3), true)] {
            let with_weights = with_weights && mechanism.contains("steered");
            let asked = of_ngrams(request(mechanism, bound, with_weights), lengths);
            let lists = with_lists(asked.clone(), words, [&[36, [22, 23][n % 2]], &[120, 9, 20]]);
            assert!(same(paths, &rows, &asked, 1 + n % 5) > 0, "{mechanism}");
            assert!(same(paths, &rows, &lists, 2 + n % 3) > 0, "{mechanism}");
            if !with_weights {
                assert!(same(paths, &rows, &counted(lists, None), 2 + n % 3) > 0, "{mechanism}");
            }
        }
    }
}

/// Items of a list: some are in paths, alone or with others.
fn words(rows: &[(i64, i64)]) -> RecordBatch {
    let word = |item: &i64| match item % 3 {
        0 => format!("{}", item % 5),
        1 => "part".to_owned(),
        _ => format!("part {} part", item % 5),
    };
    let (users, items): (Vec<i64>, Vec<String>) = rows.iter().map(|(user, item)| (user, word(item))).unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(StringArray::from(items)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn trees_make_the_local_release() {
    let rows = more_rows();
    for (n, mechanism) in MECHANISMS.into_iter().enumerate() {
        for bound in [3, 9, 100] {
            let found = same(paths, &rows, &tree(mechanism, bound), 1 + n % 5);
            assert!((1..150).contains(&found), "{mechanism}: {found}");
        }
    }
}

#[test]
fn lists_looks_and_numbers_of_trees_are_those_of_one_process() {
    let rows = some_rows();
    let numbers = |asked: SelectRequest| {
        let users = counted(asked, None);
        SelectRequest { rest: users.rest.map(|rest| Rest { max_rows_per_user: None, ..rest }), ..users }
    };
    for (n, mechanism) in [MECHANISMS[1], MECHANISMS[5], MECHANISMS[7], MECHANISMS[8]].into_iter().enumerate()
    {
        for lists in [[&[36, 22][..], &[7, 120, 9]], [&[], &[1, 2, 3]], [&[9, 10, 11], &[]]] {
            let asked = with_lists(tree(mechanism, 9), paths, lists);
            assert!(same(paths, &rows, &asked, 1 + n) > 4, "{mechanism}");
            assert!(same(paths, &rows, &numbers(asked.clone()), 4 - n % 3) > 4, "{mechanism}");
            let looking = SelectRequest { quantile: QUANTILE, ..asked };
            assert!(same(paths, &rows, &looking, 2) > 0, "{mechanism}");
        }
    }
}

/// An item is shared only if those above it are, whatever hashes say. Otherwise its users would limit it by nothing.
#[test]
fn hashes_that_items_share_change_nothing() {
    let rows = more_rows();
    let schema: Schema = paths(&rows).schema().as_ref().clone();
    let selection = Selection::new(tree(MECHANISMS[7], 30), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), paths, &rows, 3);
    let mut more_counts = Vec::new();
    let mut items = Vec::new();
    for (_, packed) in engine.contributions.iter().flatten().flat_map(|batch| bucketed_values(batch).unwrap())
    {
        PackedUsers::unpack(packed, &Dictionaries::new(&key()), &mut items).unwrap();
    }
    let users = engine.frequent(1);
    items.retain(|item| users.at_most(*item) == 1 && item.0 % 3 > 0);
    assert!(items.len() > 30, "{}", items.len());
    for item in &items {
        push_frequent(item_hash(*item), 2, &mut more_counts);
    }
    let sorted = |engine: &Engine<'_>| {
        let decided = engine.steered();
        let mut decided: Vec<_> = Decisions::each(&decided).unwrap().collect();
        decided.sort_unstable();
        decided
    };
    let expected = sorted(&engine);
    assert!(expected.len() > 9);
    assert_eq!(sorted(&Engine { more_counts, ..engine.clone() }), expected);
}

#[test]
fn a_tree_that_changed_is_noticed() {
    let rows = some_rows();
    let schema: Schema = paths(&rows).schema().as_ref().clone();
    let selection = Selection::new(tree(MECHANISMS[0], 9), &schema, key()).unwrap();
    let engine = Engine::new(selection.job(), paths, &rows, 2);
    let released = Packed::from(engine.decided(2));
    let mut named = engine.named(released.bytes());
    assert!(selection.closed(&named, &released, &schema).is_ok());
    let last = named.pop().unwrap();
    let error = selection.closed(&named, &released, &schema).unwrap_err();
    assert!(matches!(error, dpsel_exact::Error::Source(_)), "{error}");
    named.extend([last.clone(), last]);
    assert!(selection.closed(&named, &released, &schema).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_small_tree_makes_the_local_release(
        rows in prop::collection::vec((0_i64..12, 0_i64..60), 1..90),
        excluded in prop::collection::vec(0_i64..60, 0..2),
        public in prop::collection::vec(0_i64..60, 0..3),
        tasks in 1_usize..5,
        bound in 1_u32..12,
    ) {
        for mechanism in [MECHANISMS[5], MECHANISMS[7]] {
            let request = of_nodes(request_with(mechanism, 9.0, bound, false));
            let listed = with_lists(request.clone(), paths, [&excluded, &public]);
            let disjoint = Selection::new(listed.clone(), paths(&rows).schema().as_ref(), key()).is_ok();
            same(paths, &rows, if disjoint { &listed } else { &request }, tasks);
        }
    }
}
