//! An engine in one process: it does what Spark does between the stages.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use dpsel_core::task::{Release, SelectRequest};
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::ingest::Source;

use super::super::wire::bucketed_values;
use super::super::*;

pub(super) type Rows = Vec<(i64, i64)>;

pub(super) const BUCKETS: u32 = 7;

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

/// The same with items that are the nodes of a tree: paths of up to four parts.
pub(super) fn paths(rows: &[(i64, i64)]) -> RecordBatch {
    let path = |item: i64| {
        // From 1000 on, sixteen items have a top of their own.
        let top = if item < 1000 { item % 4 } else { item / 16 };
        let digits = [top, item / 4 % 5, item / 20 % 6, item].map(|digit| format!("part {digit}"));
        digits[..usize::try_from(1 + item.rem_euclid(7) % 4).unwrap()].join("/")
    };
    let (users, items): (Vec<i64>, Vec<String>) = rows.iter().map(|(user, item)| (user, path(*item))).unzip();
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

/// Run a task on the batches of its bucket.
pub(super) fn run(mut task: impl Stage, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let mut made = Vec::new();
    for batch in batches {
        made.extend(task.push(batch.clone()).unwrap());
    }
    made.extend(task.finish().unwrap());
    made
}

/// Every row as a batch of its own. The rows of a bucket come to the same task, in the order of the buckets.
pub(super) fn shuffled(made: Vec<RecordBatch>, tasks: usize) -> Vec<Vec<RecordBatch>> {
    let mut parts = vec![Vec::new(); tasks];
    for batch in made {
        let targets = batch.column(0).as_primitive::<Int32Type>().values().to_vec();
        for (row, target) in targets.into_iter().enumerate() {
            parts[target.unsigned_abs() as usize % tasks].push((target, batch.slice(row, 1)));
        }
    }
    for part in &mut parts {
        // A shuffle fetches the rows of a bucket in any order.
        part.reverse();
        part.sort_by_key(|(target, _)| *target);
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

/// The bucket of the first row.
fn target(batch: &RecordBatch) -> i32 {
    batch.column(0).as_primitive::<Int32Type>().value(0)
}

/// What goes on to the tasks of the next round.
fn of_users(made: &[RecordBatch]) -> Vec<RecordBatch> {
    made.iter().filter(|batch| target(batch) >= 0).cloned().collect()
}

/// What each task sends to the driver.
fn to_driver(made: &[Vec<RecordBatch>]) -> impl Iterator<Item = Packed> {
    made.iter().map(|made| {
        let sent: Vec<RecordBatch> = made.iter().filter(|batch| target(batch) < 0).cloned().collect();
        packed(&sent).into()
    })
}

/// The weights that all tasks send to the driver, so many of them at once. One group is not added up before.
fn weights(made: &[Vec<RecordBatch>], together: usize) -> Packed {
    let groups = made.chunks(together);
    let sent = groups.map(|group| to_driver(group).fold(Packed::default(), |all, sent| all.with(&sent)));
    sent.reduce(|sums, sent| added_up(&sums, &sent).unwrap()).unwrap_or_default()
}

/// A stage on some tasks, and another one where its rows have come together.
pub(super) fn both<A: Stage, B: Stage>(
    parts: &[Vec<RecordBatch>],
    first: impl Fn() -> A,
    second: impl Fn() -> B,
) -> Vec<RecordBatch> {
    let made = parts.iter().flat_map(|part| run(first(), part)).collect();
    shuffled(made, parts.len()).iter().flat_map(|part| run(second(), part)).collect()
}

/// An engine with one task for each part of the rows.
#[derive(Clone)]
pub(super) struct Engine<'a> {
    pub(super) job: &'a ExchangeJob,
    /// What is left out of the table.
    pub(super) unread: ReleasedSet,
    /// Bits of a filter for each released item, if they are joined.
    pub(super) filter_bits: Option<NonZeroU32>,
    pub(super) tables: Vec<RecordBatch>,
    pub(super) contributions: Vec<Vec<RecordBatch>>,
    /// User counts by item hash.
    pub(super) user_counts: Vec<Vec<RecordBatch>>,
    /// More packed counts of frequent items: of hashes that others have, too.
    pub(super) more_counts: Vec<u8>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(job: &'a ExchangeJob, table: Made, rows: &[(i64, i64)], tasks: usize) -> Self {
        Self::reading(job, &Packed::default(), table, rows, tasks)
    }

    /// The same without these items.
    pub(super) fn reading(
        job: &'a ExchangeJob,
        unread: &Packed,
        table: Made,
        rows: &[(i64, i64)],
        tasks: usize,
    ) -> Self {
        let unread = ReleasedSet::unpack(&ReleasedSet::pack(unread.bytes(), None).unwrap()).unwrap();
        let encode = || job.encode(BUCKETS, true, unread.clone()).unwrap();
        let tables: Vec<RecordBatch> = (0..tasks)
            .map(|part| table(&rows.iter().skip(part).step_by(tasks).copied().collect::<Rows>()))
            .collect();
        let encoded = tables.iter().flat_map(|part| run(encode(), std::slice::from_ref(part)));
        let (mut contributions, mut user_counts) = (shuffled(encoded.collect(), tasks), vec![]);
        for part in &mut contributions {
            let is_count =
                |batch: &RecordBatch| bucketed_values(batch).unwrap().all(|(target, _)| target < 0);
            let users = part.split_off(part.partition_point(is_count));
            user_counts.push(std::mem::replace(part, users));
        }
        Self { job, unread, filter_bits: None, tables, contributions, user_counts, more_counts: Vec::new() }
    }

    /// The same without these items, which are counted.
    pub(super) fn without(&self, items: &Packed) -> Self {
        let items = self.released_set(items.bytes());
        let rest =
            self.contributions.iter().map(|part| run(self.job.take_out(items.clone()), part)).collect();
        Self { contributions: rest, ..self.clone() }
    }

    /// The selection after a look at the data, if one comes first.
    pub(super) fn looked(&self, selection: &Selection) -> Selection {
        let sizes = selection.sizes().unwrap_or_default();
        let made: Vec<RecordBatch> =
            self.contributions.iter().flat_map(|part| run(self.job.lengths(sizes.clone()), part)).collect();
        selection.after_a_look(&packed(&made).into()).unwrap()
    }

    /// A stage on the contributions, and another one where its rows have come together.
    pub(super) fn both<A: Stage, B: Stage>(
        &self,
        first: impl Fn() -> A,
        second: impl Fn() -> B,
    ) -> Vec<RecordBatch> {
        both(&self.contributions, first, second)
    }

    /// The user counts of frequent items.
    pub(super) fn frequent(&self, frequent_above: u32) -> UserCounts {
        let made: Vec<RecordBatch> = self
            .user_counts
            .iter()
            .flat_map(|part| run(FrequentItems::above(frequent_above), part))
            .collect();
        UserCounts::unpack(frequent_above, &[packed(&made), self.more_counts.clone()].concat()).unwrap()
    }

    /// The released set that tasks get.
    pub(super) fn released_set(&self, decided: &[u8]) -> ReleasedSet {
        let mut set = ReleasedSet::pack(decided, self.filter_bits).unwrap();
        if self.filter_bits.is_some() {
            let filter = ReleasedSet::unpack(&set).unwrap();
            let passed = self
                .contributions
                .iter()
                .flat_map(|part| run(self.job.filter_candidates(BUCKETS, filter.clone()).unwrap(), part));
            let both = passed.chain(bucket_decisions(BUCKETS, decided).unwrap()).collect();
            let parts = shuffled(both, self.contributions.len());
            let false_positives: Vec<RecordBatch> =
                parts.iter().flat_map(|part| run(Sum::new(FalsePositives), part)).collect();
            set.extend(packed(&false_positives));
        }
        ReleasedSet::unpack(&set).unwrap()
    }

    /// What tasks make of contributions, and send to the driver.
    pub(super) fn pruned(&self, frequent_above: u32) -> Vec<Vec<RecordBatch>> {
        let users = self.frequent(frequent_above);
        let prune = || self.job.prune_and_weigh(users.clone()).unwrap();
        self.fewer_tasks().iter().map(|part| run(prune(), part)).collect()
    }

    /// The decisions of all plain rounds.
    pub(super) fn decided(&self, frequent_above: u32) -> Vec<u8> {
        let made = self.pruned(frequent_above);
        let (mut sent, mut released) = (weights(&made, made.len()), Packed::default());
        for round in 0..u32::try_from(self.job.spec().calibration.rounds.len()).unwrap() {
            released = released.with(&decided(self.job, round, &sent).unwrap());
            let before = self.released_set(released.bytes());
            let weigh = || self.job.weigh(round + 1, before.clone()).unwrap();
            if round + 1 < u32::try_from(self.job.spec().calibration.rounds.len()).unwrap() {
                let again: Vec<_> = made.iter().map(|part| run(weigh(), &of_users(part))).collect();
                sent = weights(&again, 1);
            }
        }
        released.bytes().to_vec()
    }

    /// The contributions for fewer tasks than there are parts, so that their buckets are in no order.
    fn fewer_tasks(&self) -> Vec<Vec<RecordBatch>> {
        let mut parts = self.contributions.clone();
        if let [first, .., last] = &mut parts[..] {
            first.append(last);
        }
        parts
    }

    /// The decisions of all scored rounds: users in blocks, and the states of shared items on the driver.
    pub(super) fn steered(&self) -> Vec<u8> {
        let mut parts = self.fewer_tasks();
        let (mut steering, mut states) = (Steering::new(self.job.clone()), Vec::new());
        let mut made: Vec<_> = parts.iter().map(|part| self.blocks(part, &states)).collect();
        loop {
            to_driver(&made).for_each(|sent| steering.take(&sent).unwrap());
            let steered = steering.end_round().unwrap();
            if states.len() + 1 == self.job.spec().calibration.rounds.len() {
                return steered.bytes().to_vec();
            }
            if states.len() % 3 == 1 {
                // Blocks that were lost are made again, of rows that come in another order.
                parts[0].reverse();
                made[0] = self.blocks(&parts[0], &states);
            }
            states.push(Packed::opened(&steered.sealed(&key()), &key()).unwrap());
            let round = u32::try_from(states.len()).unwrap();
            made = made.iter().map(|part| self.next_blocks(part, round, &states)).collect();
        }
    }

    /// What a task makes of contributions, and of its own blocks in the rounds after these states.
    fn blocks(&self, part: &[RecordBatch], states: &[Packed]) -> Vec<RecordBatch> {
        let first = run(self.job.block_users(self.frequent(1)).unwrap(), part);
        (1..).take(states.len()).fold(first, |made, round| self.next_blocks(&made, round, states))
    }

    fn next_blocks(&self, made: &[RecordBatch], round: u32, states: &[Packed]) -> Vec<RecordBatch> {
        run(self.job.weigh_blocks(round, &states[round as usize - 1]).unwrap(), &of_users(made))
    }

    /// The noisy numbers of users of released items.
    pub(super) fn noisy_counts(&self, released: &[u8]) -> Decisions {
        let set = self.released_set(released);
        let count = || self.job.count_released(BUCKETS, set.clone()).unwrap();
        Decisions::unpack(&packed(&self.both(count, || self.job.noisy_counts().unwrap()))).unwrap()
    }

    /// The sums of what released items cover, from every task.
    pub(super) fn rest(&self, released: &[u8]) -> Packed {
        let set = self.released_set(released);
        let sums = |part: &Vec<RecordBatch>| run(self.job.count_rest(set.clone()).unwrap(), part);
        packed(&self.contributions.iter().flat_map(sums).collect::<Vec<_>>()).into()
    }

    /// Names, each item once.
    pub(super) fn named(&self, released: &[u8]) -> Vec<RecordBatch> {
        let set = self.released_set(released);
        let name = || self.job.name(set.clone(), self.unread.clone());
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

pub(super) fn exchanged(
    table: Made,
    rows: &[(i64, i64)],
    request: &SelectRequest,
    tasks: usize,
    frequent_above: u32,
    filter_bits: Option<NonZeroU32>,
) -> Release {
    let schema: Schema = table(rows).schema().as_ref().clone();
    let selection = Selection::new(request.clone(), &schema, key()).unwrap();
    let (unread, public) = (selection.unread(), selection.read_public());
    let engine = Engine { filter_bits, ..Engine::reading(selection.job(), &unread, table, rows, tasks) };
    let rest = engine.without(&public);
    let selection = rest.looked(&selection);
    let [engine, rest] = [engine, rest].map(|engine| Engine { job: selection.job(), ..engine });
    let released = if selection.job().is_steered() { rest.steered() } else { rest.decided(frequent_above) };
    let looked_up = selection.looks_up(&schema).unwrap();
    let named = if looked_up { engine.named(&released) } else { vec![] };
    let closed = selection.closed(&named, &released.into(), &schema).unwrap();
    let counted = [closed.bytes(), public.bytes()].concat();
    let users = selection.is_counted().then(|| engine.noisy_counts(&counted));
    let rest = selection.has_rest().then(|| engine.rest(&counted));
    let numbers = (users.as_ref(), rest.as_ref());
    selection.publish(&named, &Decisions::unpack(closed.bytes()).unwrap(), numbers, &schema).unwrap()
}
