//! What cannot run, and what ends a job.

use dpsel_exact::Size;
use dpsel_exact::accounting::L0Bound;

use super::*;

/// Mechanisms whose users react to each other, how the refusal names them, and the bytes of a pair and an item.
const IN_MEMORY: [(&str, &str, [u32; 2]); 10] = [
    (r#"{"name": "policy_gaussian", "alpha": 5.0, "passes": 1, "release": "noise"}"#, "PolicyGaussian", L2),
    (r#"{"name": "policy_gaussian", "alpha": 3.0, "passes": 3, "release": "curve"}"#, "PolicyGaussian", L2),
    (
        r#"{"name": "policy_laplace", "alpha": 5.0, "passes": 2, "release": "noise"}"#,
        "PolicyLaplace",
        [12, 36],
    ),
    (r#"{"name": "unit_greedy"}"#, "UnitGreedy", L2),
    (r#"{"name": "greedy_frequency"}"#, "GreedyFrequency", L2),
    (r#"{"name": "greedy_frequency", "calibration": "published"}"#, "GreedyFrequency", L2),
    (r#"{"name": "mad", "alpha": 3.0}"#, "Mad", ADAPTIVE),
    (r#"{"name": "mad2r", "alpha": 3.0}"#, "Mad2R", ADAPTIVE),
    (r#"{"name": "matching", "screening": true}"#, "Matching", PATHS),
    (
        r#"{"name": "matching_or", "otherwise": {"name": "steered", "rounds": 5}, "share": 0.01}"#,
        "a look that may choose Matching",
        PATHS,
    ),
];
const L2: [u32; 2] = [12, 28];
const ADAPTIVE: [u32; 2] = [12, 52];
const PATHS: [u32; 2] = [15, 69];

#[test]
fn what_cannot_run_is_refused_before_rows_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let here = ScratchSpace { folder: folder.path().into(), limit: None };
    let refused = |mechanism: &str, limit, space: &ScratchSpace| {
        let request = Request::Select(request(mechanism, From::Integers, 9, 1.0));
        let error = check(&request, limit, space).map_err(|error| error.to_string());
        let control = Control::new(None, limit);
        let made = run(source(&[], From::Integers, &folder), &request, &key(), &control, space.clone());
        (error, made.map(drop))
    };
    for (mechanism, whose, [pair, item]) in IN_MEMORY {
        let (error, made) = refused(mechanism, Some(LEAST), &here);
        let error = error.unwrap_err();
        let words = [
            format!(
                "scratch= does not work with {whose}, which needs all rows in memory: about {pair} bytes for"
            ),
            format!("of user and item, {item} for each item and 50 for each user; "),
            "; pass mechanism=dpsel.Steered(reach=3) or mechanism=dpsel.Sips(), or leave scratch= out".into(),
        ];
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
        assert!(matches!(made, Err(Error::Incompatible { .. })), "{made:?}");
    }
    let gone = ScratchSpace { folder: folder.path().join("gone"), limit: None };
    for (limit, space, words) in [
        (None, &here, "memory_limit=, which is not given"),
        (Some(LEAST - 1), &here, "memory_limit must be at least 64 MiB"),
        (Some(LEAST), &gone, "scratch must be a folder that exists"),
    ] {
        let error = refused(MECHANISMS[5], limit, space).0.unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    assert!(refused(MECHANISMS[5], Some(LEAST), &here).0.is_ok());
}

/// Where one of them has no calibration, it is not named.
#[test]
fn a_refusal_names_what_meets_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let space = ScratchSpace { folder: folder.path().into(), limit: None };
    let asked = request(r#"{"name": "unit_greedy"}"#, From::Integers, 9, 1.0);
    let asked = SelectRequest { with_weights: false, ..asked };
    // More items than users may keep with a reach of 3.
    let wide = SelectRequest { max_items_per_user: L0Bound::new(L0Bound::MAX.into()).unwrap(), ..asked };
    let error = check(&Request::Select(wide), Some(LEAST), &space).unwrap_err().to_string();
    assert!(error.ends_with("; pass mechanism=dpsel.Sips(), or leave scratch= out"), "{error}");
}

/// Run a request with so much room for items with codes. An error has to name a limit that would do.
fn with_room(rows: &[(i64, i64)], mechanism: &str, room: usize) -> Option<(u64, String)> {
    let files = tempfile::tempdir().unwrap();
    let control = Control::default();
    let memory = Memory { coded: room.div_ceil(2) * 3, ..little(2000, 2) };
    let request = request(mechanism, From::Integers, 9, 1.0);
    let made = on_disk(source(rows, From::Integers, &files), &request, memory, None, &control);
    let error = made.as_ref().err().map(ToString::to_string);
    match made {
        Ok(_) => None,
        Err(Error::DiskMemory { enough, .. }) => Some((enough, error.unwrap())),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_rounds_hold_beyond_the_limit_is_an_error_that_names_one_that_would_do() {
    // Every item of some users, and items that one user alone holds.
    let mut rows: Rows = (0..20_000).map(|n| (n / 20, 1000 + n)).chain(some_rows(400)).collect();
    rows.retain(|(_, item)| *item >= 0);
    rows.sort_unstable();
    rows.dedup();
    let mut users = std::collections::BTreeMap::<i64, u32>::new();
    for (_, item) in &rows {
        *users.entry(*item).or_default() += 1;
    }
    let above = |least| users.values().filter(|users| **users > least).count();
    for (mechanism, bytes, what) in [
        (MECHANISMS[5], 52, "the items that may be released"),
        (MECHANISMS[8], 25, "the items of several users"),
    ] {
        let request = request(mechanism, From::Integers, 9, 1.0);
        let calibration = request.calibrate_once().unwrap();
        let asked = Calibrated::of(request, calibration);
        let job = ExchangeJob::new(JobSpec::of_selection(&asked).unwrap(), key());
        let least = if job.is_steered() { 1 } else { job.frequent_above() };
        let needed = above(least) * bytes;
        assert!(least >= 1 && above(least) > 20);
        for room in [0, needed / 9, needed - 2] {
            let (enough, error) = with_room(&rows, mechanism, room).unwrap();
            assert!(enough.is_power_of_two() && enough > 1 << 40, "{enough}");
            assert!(
                error.contains(&format!("holds {what} in memory with scratch=, too, and they exceed")),
                "{error}"
            );
            assert!(error.contains(&format!("raise memory_limit to {}, or ", Size(enough))), "{error}");
        }
        // Candidates that are not frequent take more.
        let beyond = with_room(&rows, mechanism, needed + 2);
        assert_eq!(beyond.is_some(), bytes == 52, "{beyond:?}");
        assert_eq!(with_room(&rows, mechanism, 4 * needed + 100_000), None);
    }
}

#[test]
fn an_item_that_a_second_read_lacks_is_an_error() {
    let files = tempfile::tempdir().unwrap();
    let request = request(MECHANISMS[0], From::File, 9, 3.0);
    let file = || source(&[(1, 2), (1, 3)], From::File, &files);
    let control = Control::default();
    let (asked, from) = (key(), batch(&[], From::File).schema());
    let release = |items: &[Digest]| {
        let schema = item_schema(&from, &request.columns)?;
        let (columns, key, control) = (&request.columns, &asked, &control);
        Lookup { schema, columns, key, control, again: Some(file()), names: None, known: None }
            .into_items(items)
    };
    let mut held = Vec::new();
    Digester::new(&key(), Purpose::ItemDigest).bytes(
        KeyKind::Text,
        [name(2), name(3)].iter().map(String::as_bytes),
        &mut DigestBatch::default(),
        &mut held,
    );
    assert_eq!(release(&held[..1]).unwrap().num_rows(), 1);
    assert_eq!(release(&held).unwrap().num_rows(), 2);
    let made = release(&[held[0], Digest(5)]);
    assert!(matches!(&made, Err(Error::Source(text)) if text.contains("second read")), "{made:?}");
}

#[test]
fn an_interruption_ends_the_job() {
    let files = tempfile::tempdir().unwrap();
    let control = Control::default();
    control.progress().cancel();
    let request = request(MECHANISMS[5], From::Texts, 9, 3.0);
    let made =
        on_disk(source(&some_rows(400), From::Texts, &files), &request, little(100, 2), None, &control);
    assert!(matches!(made, Err(Error::Interrupted)));
}
