//! A series of numbers on small tables: norms, damaged states, and plans that do not hold.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{Columns, PublicList, Source};
use dpsel_rows::runtime::Control;
use proptest::prelude::*;

use super::account::CountAccount;
use super::state::CountsState;
use super::{CountsAsked, CountsPlan, CountsUnit, release_counts};
use crate::series::{ReleaseRemains, SeriesKeys};

fn asked() -> CountsAsked {
    CountsAsked {
        privacy: Privacy::ApproxDp { epsilon: 8.0, delta: 0.05 },
        releases: 6,
        window: 3,
        max_items_per_user: L0Bound::new(2).unwrap(),
        max_releases_per_item: 3,
        unit: CountsUnit::User,
    }
}

fn plan(asked: CountsAsked) -> CountsPlan {
    CountsPlan::new(asked).unwrap()
}

fn rows(rows: &[(i64, i64)]) -> RecordBatch {
    let (users, items): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(Int64Array::from(items)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn next(
    plan: &CountsPlan,
    state: Option<&[u8]>,
    table: &[(i64, i64)],
    named: &[i64],
    number: u8,
) -> Result<ReleaseRemains> {
    let (secret, noise) = (ReleaseKey::kept([7; 32]), ReleaseKey::kept([number; 32]));
    let keys = SeriesKeys { secret: &secret, noise: &noise };
    let columns = Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels: None };
    let batch = rows(table);
    let schema = batch.schema();
    let source = Source::Stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    let list = rows(&named.iter().map(|item| (0, *item)).collect::<Vec<_>>());
    let list = (!named.is_empty()).then(|| PublicList::new(list.schema(), vec![list]));
    let state = state.map(|bytes| zeroize::Zeroizing::new(bytes.to_vec()));
    release_counts(plan, keys, state, (source, &columns), list.as_ref(), &[], &Control::default())
}

fn week(number: i64) -> Vec<(i64, i64)> {
    let pairs = (0..60_i64).flat_map(|user| (0..5_i64).map(move |item| (user, item)));
    pairs.filter(|(user, item)| (user * 31 + item * 17 + number * 7) % (item + 2) == 0).collect()
}

/// The states after all releases.
fn year(plan: &CountsPlan) -> Vec<Vec<u8>> {
    let mut states: Vec<Vec<u8>> = Vec::new();
    for number in 0..6_u8 {
        let state = states.last().map(Vec::as_slice);
        let named: &[i64] = if number == 0 { &[0, 1, 2, 3] } else { &[] };
        let made = next(plan, state, &week(number.into()), named, number).unwrap();
        states.push(made.state.to_vec());
    }
    states
}

/// What a user gives in one item to all releases, added up from the definition.
fn norm_of(plan: &CountsPlan, counted: &[u32]) -> u128 {
    let weight = |age: u32| plan.weights.get(age as usize).copied().map_or(0, u128::from);
    let of =
        |release: u32| counted.iter().filter(|s| **s <= release).map(|s| weight(release - s)).sum::<u128>();
    (1..=plan.asked.releases).map(|release| of(release) * of(release)).sum()
}

proptest! {
    /// Lemma 2: whatever a user brings, `spent` is the square of its norm, and within the limit.
    #[test]
    fn accounts_spend_exactly_what_their_norm_is(
        brought in prop::collection::vec(prop::collection::vec(0_u32..4, 0..8), 6),
        window in 1_u32..=6, each in 1_u32..=6,
    ) {
        let plan = plan(CountsAsked { window, max_releases_per_item: each, ..asked() });
        let mut account = CountAccount::new(Digest(1));
        for (release, items) in (1..).zip(&brought) {
            let costs = plan.costs(release);
            for item in std::collections::BTreeSet::from_iter(items) {
                let before = account.clone();
                let counts = account.count((*item, release), &plan, (&costs, plan.norm()));
                prop_assert!(counts || account == before);
            }
            let norm: u128 = account.items.iter().map(|(_, releases)| norm_of(&plan, releases)).sum();
            prop_assert_eq!(norm, account.spent);
            prop_assert!(norm <= plan.norm());
            prop_assert!(account.items.iter().all(|(_, releases)| releases.len() <= each as usize));
        }
    }

    /// Lemma 1: in two items and three releases of each a user counts whole, whichever these are.
    #[test]
    fn within_its_limits_a_user_counts_whole(
        one in prop::sample::subsequence(vec![1_u32, 2, 3, 4, 5, 6], 3),
        other in prop::sample::subsequence(vec![1_u32, 2, 3, 4, 5, 6], 3),
        window in 1_u32..=6,
    ) {
        let plan = plan(CountsAsked { window, ..asked() });
        let mut account = CountAccount::new(Digest(1));
        for release in 1..=6 {
            for (item, releases) in [(0, &one), (1, &other)] {
                if releases.contains(&release) {
                    prop_assert!(account.count((item, release), &plan, (&plan.costs(release), plan.norm())));
                }
            }
        }
        let first = norm_of(&plan, &[1, 2, 3]);
        prop_assert_eq!(plan.norm(), 2 * first);
        prop_assert!(norm_of(&plan, &one) <= first);
    }

    /// Whatever was damaged, there is an error; and without the digest at the end, at least no panic.
    #[test]
    fn damaged_states_are_refused(at: prop::sample::Index, bit in 0..8_u32, cut: prop::sample::Index) {
        static STATE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let plan = plan(asked());
        let state = STATE.get_or_init(|| year(&plan)[3].clone());
        let secret = ReleaseKey::kept([7; 32]);
        let mut damaged = state.clone();
        damaged[at.index(state.len())] ^= 1 << bit;
        prop_assert!(CountsState::from_bytes(&damaged, &plan, &secret).is_err());
        prop_assert!(CountsState::from_bytes(&state[..cut.index(state.len())], &plan, &secret).is_err());
        let _ = CountsState::parse(&damaged[..state.len() - 32], &plan);
        prop_assert!(CountsState::parse(&state[..cut.index(state.len() - 32)], &plan).is_err());
    }
}

#[test]
fn states_survive_and_keep_no_account_where_a_release_is_protected_alone() {
    let secret = ReleaseKey::kept([7; 32]);
    for (unit, each) in [(CountsUnit::User, 3), (CountsUnit::UserRelease, 1)] {
        let plan = plan(CountsAsked { unit, max_releases_per_item: each, ..asked() });
        for bytes in year(&plan) {
            let state = CountsState::from_bytes(&bytes, &plan, &secret).unwrap();
            assert_eq!(state.kept.accounts.is_empty(), unit == CountsUnit::UserRelease);
            assert_eq!(state.kept.items.len(), 4);
            assert_eq!(state.into_bytes(&plan, &secret).unwrap().as_slice(), bytes);
        }
    }
}

/// With noise taken away, numbers are sums of the window.
#[test]
fn numbers_are_sums_of_windows() {
    for window in 1..=6 {
        let plan = plan(CountsAsked { window, ..asked() });
        let users = [1_000_000_i128, 0, 17, 250_000, 3, 999_999];
        let weights: Vec<i128> = plan.weights.iter().map(|weight| i128::from(*weight)).collect();
        for release in 0..6 {
            let value = |at: usize| users[..=at].iter().rev().zip(&weights).map(|(n, a)| n * a).sum();
            let noisy: Vec<i128> = (0..=release).map(value).collect();
            let first = (release + 1).saturating_sub(window as usize);
            assert_eq!(i128::from(plan.number(&noisy)), users[first..=release].iter().sum::<i128>());
        }
    }
}

#[test]
fn a_plan_comes_back_from_its_text() {
    let week = CountsAsked { releases: 52, window: 52, max_releases_per_item: 1, ..asked() };
    let unit = CountsUnit::UserRelease;
    for asked in [asked(), week, CountsAsked { unit, ..week }, CountsAsked { releases: 1024, ..week }] {
        for privacy in [asked.privacy, Privacy::Zcdp { rho: 0.3, delta: 1e-9 }] {
            let plan = plan(CountsAsked { privacy, ..asked });
            assert_eq!(CountsPlan::from_json(&plan.to_json().unwrap()).unwrap(), plan);
        }
    }
    // Once per item and all releases: the square root of the prefix sums.
    let found = plan(week);
    assert_eq!(found.weights[1], (1 << 30) / 2);
}

/// One number is changed at a time, to the worse.
#[test]
fn a_plan_that_does_not_keep_its_guarantee_is_refused() {
    let sound = plan(CountsAsked { max_releases_per_item: 1, ..asked() });
    let changes: [fn(&mut CountsPlan); 12] = [
        |plan| plan.sigma *= 0.999,
        |plan| plan.weights[1] += plan.weights[1] / 100,
        |plan| plan.weights[0] += 1,
        |plan| plan.weights.swap(1, 2),
        |plan| plan.weights.push(1),
        |plan| plan.decode.truncate(5),
        |plan| plan.decode[0] += 1,
        |plan| plan.decode[3] = i64::MIN,
        |plan| plan.asked.max_releases_per_item += 1,
        |plan| plan.asked.max_items_per_user = L0Bound::new(3).unwrap(),
        |plan| plan.certificate.reserve = 0.0,
        |plan| plan.certificate.mu *= 0.999,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut plan = sound.clone();
        change(&mut plan);
        let error = CountsPlan::from_json(&plan.to_json().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Report(_)), "{number}: {error}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |asked| CountsPlan::new(asked).unwrap_err();
    let pure = Privacy::PureDp { epsilon: 1.0 };
    assert!(matches!(refused(CountsAsked { privacy: pure, ..asked() }), Error::Incompatible { .. }));
    let both = CountsAsked { unit: CountsUnit::UserRelease, ..asked() };
    assert!(matches!(refused(both), Error::Incompatible { .. }));
    for (wrong, name) in [
        (CountsAsked { releases: 0, ..asked() }, "releases must be"),
        (CountsAsked { window: 7, ..asked() }, "window must be"),
        (CountsAsked { window: 0, ..asked() }, "window must be"),
        (CountsAsked { max_releases_per_item: 7, ..asked() }, "max_releases_per_item must be"),
        (CountsAsked { max_releases_per_item: 0, ..asked() }, "max_releases_per_item must be"),
    ] {
        let error = refused(wrong).to_string();
        assert!(error.starts_with(name), "{error}");
    }
    let little = Privacy::Zcdp { rho: 1e-18, delta: 0.5 };
    assert!(matches!(refused(CountsAsked { privacy: little, ..asked() }), Error::Calibration { .. }));
    let nothing = next(&plan(asked()), None, &week(0), &[], 0).unwrap_err().to_string();
    assert!(nothing.starts_with("no item was named so far"), "{nothing}");
}
