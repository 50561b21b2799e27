use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::DataType;
use dpsel_exact::random::{Purpose, ReleaseKey};

use super::*;
use crate::contributions::testing::{Integers, coded, sets};
use crate::contributions::unindexed_rows::{Runs, UnindexedRows};
use crate::ingest::testing::digests;

/// Counts the rows that go straight.
struct Counted<'a>(&'a AtomicU64);

impl UnindexedRows for Counted<'_> {
    fn take(&mut self, runs: &Runs) -> Result<()> {
        self.0.fetch_add(runs.items.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

const ROWS: u64 = 400_000;
const STEP: u64 = 8000;
const SIDE_BY_SIDE: u64 = 4;

/// Push rows of users with so many items, at first of others; returns the rows that were spilled from tables, went
/// straight, and stayed, and the number of these tables.
fn pushed(size: Option<u64>, [first_each, then_each]: [u64; 2], most: u64) -> [u64; 4] {
    let (control, key) = (Control::new(1.try_into().ok(), None), ReleaseKey::insecure_test([7; 32]));
    control.set_size(size);
    let [spilled, straight, tables] = [0; 3].map(AtomicU64::new);
    let spill = |rows: Contributions| {
        tables.fetch_add(1, Ordering::Relaxed);
        spilled.fetch_add(rows.rows as u64, Ordering::Relaxed);
        Ok(())
    };
    let begin = || -> Box<dyn UnindexedRows + '_> { Box::new(Counted(&straight)) };
    let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
    let way = Some(UnindexedWay { rows: 1000, begin: &begin });
    let builder =
        SpillingBuilder::new((schema, RowOrder::Any), (most, &|_| 0), (0, &key, &control), &spill, way);
    let mut worker = builder.worker();
    for first in (0..ROWS).step_by(index(STEP)) {
        let each = if first < ROWS / 4 { first_each } else { then_each };
        // Users of few rows side by side come again and again.
        let met = if each < SIDE_BY_SIDE { 1000 } else { u64::MAX };
        let users: Vec<u64> = (first / each..(first + STEP) / each).map(|user| user % met).collect();
        let items: Vec<u64> = (first..first + STEP).collect();
        let (mut user_codes, mut item_codes) = (Vec::new(), Vec::new());
        worker.begin().unwrap();
        let digest = |keys: &[u64], purpose| digests(keys, &key, purpose);
        worker.intern(&digest(&users, Purpose::UserDigest), &Integers, &mut user_codes).unwrap();
        worker.intern(&digest(&items, Purpose::ItemDigest), &Integers, &mut item_codes).unwrap();
        let lens = vec![u32::try_from(each).unwrap(); users.len()];
        worker.push(&user_codes, Some(&lens), &item_codes).unwrap();
        worker.end().unwrap();
        control.advance(STEP).unwrap();
    }
    drop(worker);
    let all_rows = |kept: Contributions| kept.rows as u64;
    let kept = builder.finish().unwrap().map_or(0, all_rows);
    [spilled.into_inner(), straight.into_inner(), kept, tables.into_inner()]
}

#[test]
fn an_input_that_is_far_too_large_soon_goes_straight() {
    let [spilled, straight, kept, tables] = pushed(Some(100 * ROWS), [20; 2], 64 << 20);
    assert_eq!((spilled + straight, kept, tables), (ROWS, 0, 1));
    assert!((1..ROWS / 2).contains(&spilled), "{spilled}");
    for (size, each) in [(None, 20), (Some(ROWS), 20), (Some(10 * ROWS), 20), (Some(100 * ROWS), 2)] {
        assert_eq!(pushed(size, [each; 2], 64 << 20), [0, 0, ROWS, 0], "{size:?}, {each}");
    }
}

#[test]
fn rows_that_stand_side_by_side_too_late_fill_whole_tables() {
    let [spilled, straight, kept, tables] = pushed(Some(100 * ROWS), [2, 80], 2 << 20);
    assert_eq!([spilled, straight, kept], [ROWS, 0, 0]);
    assert!((2..ROWS / STEP / 2).contains(&tables), "{tables}");
}

/// Small integers are their own codes in the first builder, and users without an item are known in every one.
#[test]
fn users_have_their_items_over_all_builders_whatever_is_its_own_code() {
    let key = ReleaseKey::insecure_test([7; 32]);
    let all = |rows: u64, most: u64| {
        let (control, tables) = (Control::new(1.try_into().ok(), None), Mutex::new(Vec::new()));
        let spill = |rows: Contributions| {
            tables.lock().unwrap().push(sets(&rows));
            Ok(())
        };
        let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
        let builder = SpillingBuilder::new(
            (schema, RowOrder::Any),
            (most, &|_| 0),
            (rows, &key, &control),
            &spill,
            None,
        );
        let mut worker = builder.worker();
        for first in (0..ROWS / 4).step_by(1000) {
            let users: Vec<u64> = (first..first + 1000).map(|row| row * 7919 % 5000).collect();
            let lens: Vec<u32> = (0..1000).map(|row| row % 3).collect();
            let items: Vec<u64> = (0..999).map(|row| (first + row) * 104_729 % 1900).collect();
            worker.begin().unwrap();
            let users: Vec<UserCode> = coded(&mut worker, &users, &key, Purpose::UserDigest);
            let items: Vec<ItemCode> = coded(&mut worker, &items, &key, Purpose::ItemDigest);
            worker.push(&users, Some(&lens), &items).unwrap();
            worker.end().unwrap();
        }
        drop(worker);
        let kept = builder.finish().unwrap();
        let mut tables = tables.into_inner().unwrap();
        let number = tables.len();
        tables.extend(kept.map(|kept| sets(&kept)));
        let mut users = BTreeMap::<Digest, BTreeSet<Digest>>::new();
        for (user, items) in tables.into_iter().flatten() {
            users.entry(user).or_default().extend(items);
        }
        (users, number)
    };
    let (expected, none) = all(0, 1 << 30);
    assert_eq!((expected.len(), none), (5000, 0));
    assert_eq!(all(u64::MAX, 1 << 30), (expected.clone(), 0));
    for rows in [0, 1024, u64::MAX] {
        let (users, tables) = all(rows, 1 << 18);
        assert_eq!(users, expected);
        assert!(tables > 1, "{tables}");
    }
}
