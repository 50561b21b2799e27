//! The encoder against a recorder.

mod many;
mod rows;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::encode::{Chunk, Encoder, Sink};
use super::layout::ColumnLayout;
use super::*;

/// Remembers every (user digest, item digest) and the key of every digest.
#[derive(Default)]
struct Recorder {
    codes: BTreeMap<Digest, u32>,
    digests: Vec<Digest>,
    store: KeyStore,
    user_digests: Vec<Digest>,
    rows: BTreeSet<(Digest, Digest)>,
    users: BTreeSet<Digest>,
}

impl Sink for Recorder {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        for (row, &digest) in digests.iter().enumerate() {
            let known = if C::SIDE == Side::User { &mut self.user_digests } else { &mut self.digests };
            let next = u32::try_from(known.len()).unwrap();
            let code = *self.codes.entry(digest).or_insert_with(|| {
                known.push(digest);
                if C::SIDE == Side::Item {
                    payload.append_to([row].into_iter(), &mut self.store);
                }
                next
            });
            codes.push(C::new(code));
        }
        Ok(())
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        let mut items = items.iter();
        for (run, user) in users.iter().enumerate() {
            let user = self.user_digests[user.0 as usize];
            self.users.insert(user);
            for item in items.by_ref().take(lens.map_or(1, |lens| lens[run] as usize)) {
                self.rows.insert((user, self.digests[item.0 as usize]));
            }
        }
        assert!(items.next().is_none(), "the runs cover the codes");
        assert!(lens.is_none_or(|lens| lens.len() == users.len()));
        Ok(())
    }
}

fn columns(items: &[&str], ngrams: Option<NGrams>) -> Columns {
    Columns { user: "u".into(), items: items.iter().map(|&s| s.into()).collect(), ngrams, levels: None }
}

fn record(user: ArrayRef, items: Vec<ArrayRef>, ngrams: Option<NGrams>) -> Result<(Recorder, RecordBatch)> {
    let names = &["a", "b", "c"][..items.len()];
    let fields = [("u", &user)].into_iter().chain(names.iter().copied().zip(&items));
    let schema =
        Schema::new(fields.map(|(n, c)| Field::new(n, c.data_type().clone(), true)).collect::<Vec<_>>());
    let (layout, _) = ColumnLayout::new(&schema, &columns(names, ngrams), "the input")?;
    let item_schema = layout.item_schema()?;
    let key = ReleaseKey::insecure_test([1; 32]);
    let mut encoder = Encoder::new(&layout, &key, Recorder::default());
    encoder.encode(&Chunk { users: vec![user], items, source: "the input".into(), first_row: 0, work: 0 })?;
    let recorder = encoder.into_sink();
    let digests = recorder.digests.iter().enumerate();
    let keys = digests.map(|(at, digest)| Key { digest: *digest, long: recorder.store.get(at) });
    let (decoded, _) = sorted(&item_schema.decode(keys, &key)?)?;
    Ok((recorder, decoded))
}

fn ok(user: ArrayRef, items: Vec<ArrayRef>) -> (Recorder, RecordBatch) {
    record(user, items, None).unwrap()
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}
