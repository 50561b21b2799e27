//! What an engine does between the stages, in one process.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;

use super::super::routing::unrouted;
use super::super::*;
use crate::ingest::Source;
use crate::random::ReleaseKey;
use crate::task::{Release, SelectRequest};

pub(super) type Rows = Vec<(i64, i64)>;

pub(super) const ROUTES: u32 = 7;

pub(super) fn table(rows: &[(i64, i64)]) -> RecordBatch {
    let (users, items): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(Int64Array::from(items)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The same with items that are texts.
pub(super) fn texts(rows: &[(i64, i64)]) -> RecordBatch {
    let (users, items): (Vec<i64>, Vec<String>) =
        rows.iter().map(|(user, item)| (user, format!("item number {item}"))).unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("user", Arc::new(Int64Array::from(users))), ("item", Arc::new(StringArray::from(items)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(super) type Made = fn(&[(i64, i64)]) -> RecordBatch;

pub(super) fn source(rows: &[(i64, i64)]) -> Source {
    source_of(table(rows))
}

pub(super) fn source_of(table: RecordBatch) -> Source {
    let schema = table.schema();
    Source::Stream(Box::new(RecordBatchIterator::new([Ok(table)], schema)))
}

pub(super) fn key() -> ReleaseKey {
    ReleaseKey::insecure_test([7; 32])
}

/// Run a task on the batches of its partition.
pub(super) fn run(mut task: impl Stage, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let mut made = Vec::new();
    for batch in batches {
        made.extend(task.push(batch.clone()).unwrap());
    }
    made.extend(task.finish().unwrap());
    made
}

/// Every row as a batch of its own, those of a route in the same partition, in the order of their routes.
pub(super) fn shuffled(made: Vec<RecordBatch>, partitions: usize) -> Vec<Vec<RecordBatch>> {
    let mut parts = vec![Vec::new(); partitions];
    for batch in made {
        let routes = batch.column(0).as_primitive::<Int32Type>().values().to_vec();
        for (row, route) in routes.into_iter().enumerate() {
            parts[route.unsigned_abs() as usize % partitions].push((route, batch.slice(row, 1)));
        }
    }
    for part in &mut parts {
        // What a shuffle fetches first is a matter of luck.
        part.reverse();
        part.sort_by_key(|(route, _)| *route);
    }
    parts.into_iter().map(|part| part.into_iter().map(|(_, batch)| batch).collect()).collect()
}

pub(super) fn packed(made: &[RecordBatch]) -> Vec<u8> {
    let values = made.iter().flat_map(|batch| {
        let column = batch.column_by_name("packed").unwrap();
        let column = column.as_binary::<i32>().clone();
        (0..column.len()).flat_map(move |row| column.value(row).to_vec()).collect::<Vec<u8>>()
    });
    values.collect()
}

/// A stage on some partitions, and another one where what it makes has come together.
pub(super) fn both<A: Stage, B: Stage>(
    parts: &[Vec<RecordBatch>],
    first: impl Fn() -> A,
    second: impl Fn() -> B,
) -> Vec<RecordBatch> {
    let made = parts.iter().flat_map(|part| run(first(), part)).collect();
    shuffled(made, parts.len()).iter().flat_map(|part| run(second(), part)).collect()
}

/// A cluster of so many partitions.
pub(super) struct Cluster<'a> {
    pub(super) plan: &'a Plan,
    /// Bits of a filter for each decided item, where these are joined.
    pub(super) joined: Option<NonZeroU32>,
    pub(super) tables: Vec<RecordBatch>,
    pub(super) contributions: Vec<Vec<RecordBatch>>,
    /// Numbers of users by mark.
    pub(super) marks: Vec<Vec<RecordBatch>>,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(plan: &'a Plan, table: Made, rows: &[(i64, i64)], partitions: usize) -> Self {
        let tables: Vec<RecordBatch> = (0..partitions)
            .map(|part| table(&rows.iter().skip(part).step_by(partitions).copied().collect::<Rows>()))
            .collect();
        let encoded = tables
            .iter()
            .flat_map(|part| run(plan.encode(ROUTES, true).unwrap(), std::slice::from_ref(part)));
        let (mut contributions, mut marks) = (shuffled(encoded.collect(), partitions), vec![]);
        for part in &mut contributions {
            let of_users = part.partition_point(|batch| unrouted(batch).unwrap().all(|(route, _)| route < 0));
            let users = part.split_off(of_users);
            marks.push(std::mem::replace(part, users));
        }
        Self { plan, joined: None, tables, contributions, marks }
    }

    /// A stage on the contributions, and another one where what it makes has come together.
    pub(super) fn both<A: Stage, B: Stage>(
        &self,
        first: impl Fn() -> A,
        second: impl Fn() -> B,
    ) -> Vec<RecordBatch> {
        both(&self.contributions, first, second)
    }

    /// What tells which items can be released; none for few below 0.
    pub(super) fn most_users(&self, few: i64) -> Option<MostUsers> {
        let few = u32::try_from(few).ok()?;
        let made: Vec<RecordBatch> =
            self.marks.iter().flat_map(|part| run(self.plan.crowds(few), part)).collect();
        Some(MostUsers::unpack(few, &packed(&made)).unwrap())
    }

    /// What tasks know of decided items.
    pub(super) fn known(&self, decided: &[u8]) -> Known {
        let mut known = Known::pack(decided, self.joined).unwrap();
        if self.joined.is_some() {
            let filter = Known::unpack(&known).unwrap();
            let passed = self
                .contributions
                .iter()
                .flat_map(|part| run(self.plan.sift(ROUTES, filter.clone()).unwrap(), part));
            let both = passed.chain(scatter(ROUTES, decided).unwrap()).collect();
            let parts = shuffled(both, self.contributions.len());
            let mistaken: Vec<RecordBatch> =
                parts.iter().flat_map(|part| run(self.plan.mistaken(), part)).collect();
            known.extend(packed(&mistaken));
        }
        Known::unpack(&known).unwrap()
    }

    pub(super) fn settled(&self, few: i64) -> Vec<Vec<RecordBatch>> {
        let settle = || self.plan.settle(self.most_users(few)).unwrap();
        self.contributions.iter().map(|part| run(settle(), part)).collect()
    }

    pub(super) fn decided(&self, few: i64) -> Vec<u8> {
        let settled = self.settled(few);
        let mut released = Vec::new();
        for round in 0..u32::try_from(self.plan.work().calibration.rounds.len()).unwrap() {
            let gone = self.known(&released);
            let made = both(
                &settled,
                || self.plan.weigh(ROUTES, round, gone.clone()).unwrap(),
                || self.plan.decide(round).unwrap(),
            );
            released.extend(packed(&made));
        }
        released
    }

    pub(super) fn steered(&self) -> Vec<u8> {
        let last = u32::try_from(self.plan.work().calibration.rounds.len()).unwrap() - 1;
        let mut made = self.both(|| self.plan.tilt(ROUTES, 0).unwrap(), || self.plan.steer(0).unwrap());
        for round in 1..=last {
            let states = shuffled(made, 1).concat();
            let messages = self.by_route().into_iter().flat_map(|(route, mut batches)| {
                let of_route =
                    |batch: &&RecordBatch| batch.column(0).as_primitive::<Int32Type>().value(0) == route;
                let mine: Vec<RecordBatch> = states.iter().filter(of_route).cloned().collect();
                batches.splice(0..0, mine);
                run(self.plan.tilt(ROUTES, round).unwrap(), &batches)
            });
            let parts = shuffled(messages.collect(), self.contributions.len());
            made = parts.iter().flat_map(|part| run(self.plan.steer(round).unwrap(), part)).collect();
        }
        packed(&made)
    }

    pub(super) fn by_route(&self) -> Vec<(i32, Vec<RecordBatch>)> {
        let mut found: BTreeMap<i32, Vec<RecordBatch>> = BTreeMap::default();
        for batch in self.contributions.concat() {
            let route = unrouted(&batch).unwrap().next().unwrap().0;
            found.entry(route).or_default().push(batch);
        }
        found.into_iter().collect()
    }

    /// Names, each item once.
    pub(super) fn named(&self, released: &[u8]) -> Vec<RecordBatch> {
        let known = self.known(released);
        let name = || self.plan.name(known.clone());
        let found = self.tables.iter().flat_map(|part| run(name(), std::slice::from_ref(part)));
        let found: Vec<RecordBatch> = found.collect();
        let Some(first) = found.first() else { return Vec::new() };
        let all = concat_batches(&first.schema(), &found).unwrap();
        let digests = all.column(0).as_binary::<i32>().clone();
        let mut seen = HashSet::new();
        let once = (0..all.num_rows()).filter(|row| seen.insert(digests.value(*row).to_vec()));
        once.map(|row| all.slice(row, 1)).collect()
    }
}

pub(super) fn on_cluster(
    table: Made,
    rows: &[(i64, i64)],
    request: &SelectRequest,
    partitions: usize,
    few: i64,
    joined: Option<NonZeroU32>,
) -> Release {
    let schema: Schema = table(rows).schema().as_ref().clone();
    let selection = Selection::new(request.clone(), &schema, key()).unwrap();
    let cluster = Cluster { joined, ..Cluster::new(selection.plan(), table, rows, partitions) };
    let released = if selection.plan().is_steered() { cluster.steered() } else { cluster.decided(few) };
    let looked_up = selection.looks_up(&schema).unwrap();
    let named = if looked_up { cluster.named(&released) } else { vec![] };
    selection.publish(&named, Decisions::unpack(&released).unwrap(), &schema).unwrap()
}
