//! Items that stand above others: nodes of paths, and n-grams with those inside them.

use dpsel_core::counting::Rest;
use dpsel_rows::ingest::{Columns, Levels, NGrams, Unit};

use super::counts::counted;
use super::*;

/// The words of the names are the parts of paths, or of n-grams.
fn with_lines(request: SelectRequest, ngrams: Option<(u8, u8, Unit)>) -> SelectRequest {
    let levels = Some(Levels::Separator(" ".into())).filter(|_| ngrams.is_none());
    let ngrams = ngrams.map(|(min, max, unit)| NGrams { min, max, unit });
    let with_weights = request.with_weights && ngrams.is_some();
    SelectRequest { columns: Columns { levels, ngrams, ..request.columns }, with_weights, ..request }
}

const LINES: [Option<(u8, u8, Unit)>; 4] =
    [None, Some((1, 3, Unit::Words)), Some((2, 5, Unit::Words)), Some((2, 4, Unit::Subwords))];

#[test]
fn trees_and_ngrams_make_the_release_of_memory() {
    let rows = some_rows(400);
    for (n, mechanism) in MECHANISMS.iter().enumerate() {
        for (lines, from) in LINES.into_iter().zip([From::Texts, From::File, From::Texts, From::File]) {
            for bound in [3, 12, 90] {
                for with_weights in [false, true] {
                    let asked = SelectRequest { with_weights, ..request(mechanism, from, bound, 3.0) };
                    let asked = with_lines(asked, lines);
                    if asked.calibrate().is_ok() {
                        let found = same(&rows, from, &asked, little(9000, 1 + n % 3));
                        assert!(found > 0, "{mechanism} {lines:?} {bound}");
                    }
                }
            }
        }
    }
}

#[test]
fn lists_and_numbers_of_trees_and_ngrams_are_those_of_memory() {
    let rows = some_rows(400);
    for (n, lines) in LINES.into_iter().enumerate() {
        for mechanism in [MECHANISMS[1], MECHANISMS[5], MECHANISMS[8], MECHANISMS[9]] {
            let plain = with_lines(request(mechanism, From::Texts, 9, 4.0), lines);
            let plain = SelectRequest { with_weights: false, ..plain };
            let listed = with_lists(plain.clone(), From::Texts, 1);
            let rest = Some(Rest { share: 0.1, max_rows_per_user: None });
            let numbers = with_lines(counted(mechanism, From::Texts, false, None), lines);
            let counted = with_lists(SelectRequest { rest, ..numbers }, From::Texts, 1);
            for asked in [listed, counted] {
                assert!(same(&rows, From::Texts, &asked, little(9000, 1 + n % 3)) > 3, "{mechanism}");
            }
        }
    }
}

/// So small a limit that all buckets have to be divided, and that rounds have few bytes.
#[test]
fn divided_buckets_keep_what_stands_above_items() {
    let rows = some_rows(400);
    for lines in LINES {
        let memory = Memory { limit: 300_000, stage: 150_000, buckets: 2, ..little(9000, 2) };
        let asked = with_lines(request(MECHANISMS[8], From::Texts, 9, 4.0), lines);
        let asked = SelectRequest { with_weights: false, ..asked };
        assert!(same(&rows, From::Texts, &asked, memory) > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn few_trees_and_ngrams_make_the_release_of_memory(
        rows in prop::collection::vec((0_i64..12, -1_i64..40), 1..90),
        lines in prop::sample::select(&LINES[..]),
        mechanism in prop::sample::select(&[MECHANISMS[5], MECHANISMS[8], MECHANISMS[9]][..]),
        bound in 1_u32..12,
        threads in 1_usize..4,
        buckets in 1_u32..9,
    ) {
        let memory = Memory { buckets, ..little(0, threads) };
        let asked = with_lines(request(mechanism, From::Texts, bound, 9.0), lines);
        same(&rows, From::Texts, &SelectRequest { with_weights: false, ..asked }, memory);
    }
}
