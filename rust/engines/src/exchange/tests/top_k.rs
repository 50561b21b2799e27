//! A top-k in pieces: the answer of the local engine.

use std::sync::Arc;

use dpsel_core::task::{Request, TopKRequest, top_k_from_rows};
use dpsel_rows::ingest::PublicList;

use super::*;

fn list_of(rows: &[(i64, i64)]) -> PublicList {
    let batch = table(rows);
    PublicList::new(batch.schema(), vec![batch])
}

fn exchanged_top_k(
    rows: &[(i64, i64)],
    domain: Option<&[(i64, i64)]>,
    request: &TopKRequest,
    filter_bits: Option<NonZeroU32>,
) -> RecordBatch {
    let schema: Schema = table(rows).schema().as_ref().clone();
    let top_k = TopK::new(request.clone(), &schema, domain.map(list_of).as_ref(), key()).unwrap();
    let job = top_k.job();
    let engine = Engine { filter_bits, ..Engine::new(job, table, rows, 3) };
    let listed = || top_k.listed().map(|listed| listed.bytes().to_vec());
    let found = || if job.is_steered() { engine.steered() } else { engine.decided(1) };
    let wanted = if top_k.is_discovery() { Some(found()) } else { listed() };
    let counted = match &wanted {
        Some(found) if top_k.has_noisy_numbers() => engine.noisy_counts(found),
        _ => {
            let wanted = wanted.map(|wanted| engine.released_set(&wanted));
            let count = || job.count(BUCKETS, wanted.clone(), !top_k.is_discovery()).unwrap();
            Decisions::unpack(&packed(&engine.both(count, || job.total(top_k.largest())))).unwrap()
        }
    };
    let drawn = top_k.draw(&counted).unwrap();
    let named = if top_k.looks_up(&schema).unwrap() { engine.named(&drawn.pack()) } else { vec![] };
    top_k.publish(&named, &drawn, &schema).unwrap().items
}

#[test]
fn the_exchange_draws_the_local_top_k() {
    let rows = some_rows();
    // Users of many items hold some that are not listed.
    let listed: Rows = (0..320).step_by(2).map(|item| (0, item)).collect();
    for (mechanism, domain) in [
        (r#"{"name": "joint"}"#, "listed"),
        (r#"{"name": "joint_set"}"#, "listed"),
        (r#"{"name": "gumbel_peel"}"#, "listed"),
        (r#"{"name": "permute_flip_peel"}"#, "listed"),
        (r#"{"name": "gamma"}"#, "listed"),
        (r#"{"name": "laplace_top_k"}"#, "listed"),
        (r#"{"name": "limit_domain"}"#, "unknown"),
        (r#"{"name": "limit_domain", "candidates": 90}"#, "unknown"),
        (r#"{"name": "discover", "share": 0.5, "ordered": false}"#, "unknown"),
        (r#"{"name": "select_and_count", "share": 0.5, "max_counted_items": 2}"#, "unknown"),
    ] {
        for bound in ["null", "5"] {
            let counts_first = mechanism.contains("select_and_count");
            if (mechanism.contains("discover") || counts_first) && bound == "null" {
                continue;
            }
            // Counts that are noisy already get no noise on top.
            let counts =
                if counts_first { r#"{"kind": "free"}"# } else { r#"{"kind": "laplace", "epsilon": 0.5}"# };
            let request = Request::from_json(&format!(
                r#"{{"task": "top_k", "columns": {{"user": "user", "items": ["item"]}}, "k": 7,
                     "privacy": {{"kind": "approx_dp", "epsilon": 6.0, "delta": 1e-2}}, "mechanism": {mechanism},
                     "max_items_per_user": {bound}, "domain": {{"kind": "{domain}"}},
                     "counts": {counts}}}"#
            ))
            .and_then(Request::into_top_k)
            .unwrap();
            let list = (domain == "listed").then_some(listed.as_slice());
            let local = TopKRequest { listed: list.map(list_of).map(Arc::new), ..request.clone() };
            let here = top_k_from_rows(source(&rows), &local, &key(), &Control::default()).unwrap();
            for bits in [0, 2] {
                let there = exchanged_top_k(&rows, list, &request, NonZeroU32::new(bits));
                assert_eq!(there, here.items, "{mechanism}, {bits}");
            }
            assert!(here.items.num_rows() > 0, "{mechanism}");
        }
    }
}
