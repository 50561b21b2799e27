//! Everything at once: rows, lists, a least number of users, tiny memory.

use super::*;

/// Every mechanism of the tests of this folder, and one that reaches further.
fn all_mechanisms() -> Vec<&'static str> {
    [&MECHANISMS[..], &[r#"{"name": "steered", "rounds": 4, "reach": 3}"#]].concat()
}

/// A request with numbers.
fn asked(
    mechanism: &str,
    from: From,
    bound: u32,
    most: Option<u32>,
    quantile: bool,
    weights: bool,
) -> Option<SelectRequest> {
    let bound = if mechanism.contains("one_item") { 1 } else { bound };
    let items = if matches!(from, From::Pairs) { r#"["item", "more"]"# } else { r#"["item"]"# };
    let rows = most.map_or(String::new(), |rows| format!(r#", "max_rows_per_item": {rows}"#));
    let of_user = most.map_or(String::new(), |rows| format!(r#", "max_rows_per_user": {rows}"#));
    let look = if quantile { r#", "quantile": {"quantile": 0.9, "share": 0.1}"# } else { "" };
    Request::from_json(&format!(
        r#"{{"task": "select", "columns": {{"user": "user", "items": {items}}}, "max_items_per_user": {bound},
             "privacy": {{"kind": "approx_dp", "epsilon": 6.0, "delta": 3e-2}}, "mechanism": {mechanism}, "with_weights": {weights}{look},
             "counts": {{"share": 0.3, "max_counted_items": 2, "nonnegative": false{rows}}},
             "rest": {{"share": 0.1{of_user}}}}}"#
    ))
    .and_then(Request::into_select)
    .ok()
}

fn fuzzed_list(items: &[i64], from: From) -> (Option<ListStamp>, Option<Arc<PublicList>>) {
    let rows = batch(&items.iter().map(|item| (0, *item)).collect::<Rows>(), from);
    let stamp = ListStamp { items: items.len() as _, sha256: "0".repeat(64) };
    (Some(stamp), Some(Arc::new(PublicList::new(rows.schema(), vec![rows]))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn everything_at_once(
        rows in prop::collection::vec((0_i64..30, -1_i64..10), 1..300),
        again in prop::collection::vec((0_usize..300, 0_usize..60), 0..8),
        mechanism in prop::sample::select(all_mechanisms()),
        from in prop::sample::select(&ALL[..]),
        (bound, most, quantile, weights) in (1_u32..6, prop::sample::select(&[None, Some(1), Some(2), Some(3), Some(1_000_000)][..]), prop::bool::weighted(0.25), any::<bool>()),
        (threads, buckets, coded) in
            (1_usize..4, 1_u32..9, prop::sample::select(&[0, 300, 3000, usize::MAX][..])),
        (table, limit, written, size) in (prop::sample::select(&[0_u64, 500, 2000][..]), prop::sample::select(&[1_u64 << 40, 1 << 17, 1 << 18][..]), prop::sample::select(&[1_usize, 50, 300][..]), 1_usize..60),
        (lists, min_users) in (0_u8..4, prop::sample::select(&[1_u32, 1, 2, 4][..])),
    ) {
        let mut rows = rows;
        for (at, times) in again {
            if let Some(row) = rows.get(at).copied() { rows.extend(std::iter::repeat_n(row, times)); }
        }
        let Some(request) = asked(mechanism, from, bound, most, quantile, weights) else { return Ok(()) };
        let mut request = SelectRequest { min_users, ..request };
        if lists & 1 == 1 { (request.exclude, request.excluded) = fuzzed_list(&[0, 1], from); }
        if lists & 2 == 2 { (request.public_items, request.public) = fuzzed_list(&[3, 4, 100_000], from); }
        if request.calibrate().is_err() { return Ok(()); }
        let memory = Memory { limit, buckets, coded, written,
            rows: size, ..little(table, threads) };
        let files = tempfile::tempdir().unwrap();
        let control = Control::new(memory.threads.try_into().ok(), None);
        let here = task::select_partitions(source(&rows, from, &files), &request, &key(), &Control::default());
        let there = on_disk(source(&rows, from, &files), &request, memory, None, &control);
        match (here, there) {
            (Ok(here), Ok(there)) => {
                prop_assert_eq!(&there.items, &here.items, "{:?} {:?}", request, memory);
                prop_assert_eq!(&there.report, &here.report);
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(Error::MemoryLimit { .. })) if limit < 1 << 40 => {}
            (Ok(_), Err(Error::DiskMemory { .. })) if coded < usize::MAX => {}
            (here, there) => panic!("{here:?} {there:?} {request:?} {memory:?}"),
        }
    }
}
