//! What cannot run, and what ends a job.

use super::*;

#[test]
fn what_cannot_run_is_refused_before_rows_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let here = ScratchSpace { folder: folder.path().into(), limit: None };
    let refused = |mechanism: &str, limit, space: &ScratchSpace| {
        let request = request(mechanism, From::Integers, 9, 1.0);
        let error = check(&Request::Select(request.clone()), limit, space).map_err(|error| error.to_string());
        let control = Control::new(None, limit);
        let made = select_partitions(
            source(&[], From::Integers, &folder),
            &request,
            &key(),
            &control,
            space.clone(),
        );
        (error, made.map(drop))
    };
    let (error, made) = refused(r#"{"name": "matching", "screening": true}"#, Some(LEAST), &here);
    let error = error.unwrap_err();
    assert!(error.contains("Matching, which needs all rows in memory, about 17 bytes for each"), "{error}");
    assert!(matches!(made, Err(Error::Incompatible { .. })), "{made:?}");
    let look = r#"{"name": "by_length", "short": {"name": "matching", "screening": true},
        "long": {"name": "steered", "rounds": 5}, "size": 32, "percent": 2, "share": 0.01}"#;
    let (error, made) = refused(look, Some(LEAST), &here);
    let error = error.unwrap_err();
    assert!(error.contains("may choose Matching") && error.contains("with Steered"), "{error}");
    assert!(matches!(made, Err(Error::Incompatible { .. })), "{made:?}");
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

#[test]
fn an_item_that_a_second_read_lacks_is_an_error() {
    let files = tempfile::tempdir().unwrap();
    let request = request(MECHANISMS[0], From::File, 9, 3.0);
    let file = || source(&[(1, 2), (1, 3)], From::File, &files);
    let control = Control::default();
    let schema = item_schema(batch(&[], From::File).schema().as_ref(), &request.columns).unwrap();
    let calibration = request.calibrate_once().unwrap();
    let selection = Selection::of(Calibrated { request, look: None, calibration }, key()).unwrap();
    let asked = key();
    let lookup =
        Lookup { schema: &schema, columns: &selection.job().spec().columns, key: &asked, control: &control };
    let release = |items: &[Digest]| {
        let decided = Decisions::unpack(&Decisions::pack(items.iter().map(|item| (*item, 0))))?;
        let (digests, items) = lookup.items(&decided, Some(file()), None)?;
        selection.publish_items(&digests, &items, decided, None)
    };
    let mut held = Vec::new();
    Digester::new(&key(), Purpose::ItemDigest).bytes(
        KeyKind::Text,
        [name(2), name(3)].iter().map(String::as_bytes),
        &mut DigestBatch::default(),
        &mut held,
    );
    assert_eq!(release(&held[..1]).unwrap().items.num_rows(), 1);
    assert_eq!(release(&held).unwrap().items.num_rows(), 2);
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
