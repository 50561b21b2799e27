//! One release of a series: a function of the set of rows, the state, the plan, the secret and the noise key.

use arrow_array::RecordBatch;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{self, Contributions};
use dpsel_rows::ingest::{ColumnLayout, Columns, Key, Source};
use dpsel_rows::runtime::{Control, parallel};
use zeroize::Zeroizing;

use super::account::{Account, Pair};
use super::arrivals::arrive;
use super::opening::begin;
use super::plan::SeriesPlan;
use super::scores::{Item, Scores, SeriesState, Status};
use super::steering::Course;
use super::walk::{ReleaseNoise, Walk};
use crate::release::{Beside, publish_columns};

/// What a release leaves behind.
#[derive(Debug)]
pub struct ReleaseRemains {
    /// The state after it. It is secret.
    pub state: Zeroizing<Vec<u8>>,
    /// The new items, or all that have numbers, in the order of their own values.
    pub items: RecordBatch,
}

/// The keys of a release.
#[derive(Debug, Clone, Copy)]
pub struct SeriesKeys<'a> {
    /// Of priorities and digests. It stays the same for the whole series.
    pub secret: &'a ReleaseKey,
    /// Of the noise of this release. It is drawn anew in every attempt.
    pub noise: &'a ReleaseKey,
}

/// Read the rows of the next release, and make it.
///
/// `state` is that of the release before, and none for the first one. Rows of the users `forget` are ignored from now on,
/// for ever. A pair that was seen before is ignored, so a table may hold all rows so far or the new ones alone.
///
/// # Errors
/// See [`Error`]. Nothing is released then.
pub fn release(
    plan: &SeriesPlan,
    keys: SeriesKeys<'_>,
    state: Option<Zeroizing<Vec<u8>>>,
    (source, columns): (Source, &Columns),
    forget: &[Digest],
    control: &Control,
) -> Result<ReleaseRemains> {
    let (mut state, source) = begin((plan, keys.secret), state, (source, columns), control)?;
    let schema = ColumnLayout::from_text(&state.types, columns)?;
    let order = contributions::RowOrder::Any;
    state.release += 1;
    let release = state.release;
    let mut series = Series { plan, keys, control, state, release };
    let new = series.make(contributions::read_in_order(source, &order, keys.secret, control)?, forget)?;
    let state = series.state.into_bytes(plan, keys.secret)?;
    let known = new.iter().map(|item| Key { digest: item.digest, long: item.key.as_deref() });
    let items = schema.item_schema()?.decode(known, keys.secret)?;
    let items = publish_columns(&items, Beside::default())?;
    Ok(ReleaseRemains { state, items })
}

/// A release on its way.
struct Series<'a> {
    plan: &'a SeriesPlan,
    keys: SeriesKeys<'a>,
    control: &'a Control,
    state: SeriesState,
    /// Its number, from 1.
    release: u32,
}

impl Series<'_> {
    /// Make the release, and bring the state into the order of a state. Returns the new items.
    fn make(&mut self, rows: Contributions, forget: &[Digest]) -> Result<Vec<Item>> {
        let begins = self.age() == 1;
        if begins {
            self.begin_block();
        }
        // What users gave stays in the block.
        self.state.forget(forget);
        arrive(&mut self.state, &rows, (self.plan, self.release), self.keys.secret)?;
        drop(rows);
        if begins || !self.plan.asked.waits {
            self.rank();
        }
        self.control.charge_memory(self.bytes(), "weighing the items of a series")?;
        self.start_walks()?;
        self.rounds()?;
        let new = self.decide();
        if !self.plan.asked.waits {
            self.state.kept.noise_keys.push(Zeroizing::new(self.keys.noise.to_bytes()));
        }
        self.state.kept.settle();
        Ok(new)
    }

    /// Bytes of accounts and items, and of the sums of all threads.
    fn bytes(&self) -> u64 {
        let Scores { items, accounts, .. } = &self.state.kept;
        let pairs: usize = accounts.iter().map(|account| account.pairs.len()).sum();
        let of_item = size_of::<Item>() + size_of::<u16>() + self.control.threads() * size_of::<u64>();
        (accounts.len() * size_of::<Account>() + pairs * size_of::<Pair>() + items.len() * of_item) as u64
    }

    fn age(&self) -> u32 {
        self.plan.age(self.release)
    }

    /// Nothing of scores and totals stays.
    fn begin_block(&mut self) {
        let Scores { items, accounts, noise_keys } = &mut self.state.kept;
        noise_keys.clear();
        for item in &mut *items {
            item.walk = None;
            item.status = match item.status {
                Status::Out | Status::WasOut => Status::WasOut,
                Status::InPlay | Status::Paused => Status::InPlay,
            };
        }
        for account in accounts {
            account.begin_block(|item| items[item as usize].was_out());
        }
    }

    fn rank(&mut self) {
        let Scores { items, accounts, .. } = &mut self.state.kept;
        for account in accounts {
            account.rank(self.plan, |item| items[item as usize].was_out());
        }
    }

    /// Items that have their first ranked pair of the block get a walk, which has all noise of the block.
    fn start_walks(&mut self) -> Result<()> {
        let Scores { items, accounts, noise_keys } = &mut self.state.kept;
        let mut fresh = Vec::new();
        for item in accounts.iter().flat_map(|account| &account.pairs).map(|pair| pair.item) {
            let place = &mut items[item as usize];
            if place.status == Status::InPlay && place.walk.is_none() {
                place.walk = Some(Box::new(Walk::START));
                fresh.push(item);
            }
        }
        let first = self.plan.block(self.release).0;
        if !fresh.is_empty() && noise_keys.len() != (self.release - first) as usize {
            return Err(Error::Internal("an item of a series has its first rank when its noise is gone"));
        }
        for (release, key) in (first..self.release).zip(noise_keys) {
            let key = ReleaseKey::kept(**key);
            for round in 1..=self.plan.rounds {
                observe(self.plan, items, &fresh, (&key, release, round), |_| 0, self.control)?;
            }
        }
        Ok(())
    }

    /// Every user gives, and every item that is not paused gets noise.
    fn rounds(&mut self) -> Result<()> {
        let Scores { items, accounts, .. } = &self.state.kept;
        let active: Vec<u32> =
            (0..).zip(items).filter(|(_, item)| item.walk.is_some()).map(|(at, _)| at).collect();
        let norms: Vec<u64> =
            accounts.iter().map(|account| account.round_norm(self.plan, self.release)).collect();
        for round in 1..=self.plan.rounds {
            let importance = |item: &Item| item.walk.as_ref().map_or(0, |walk| walk.importance);
            let importances: Vec<u16> = self.state.kept.items.iter().map(importance).collect();
            let sums = self.weigh(&norms, &importances)?;
            let step = (self.keys.noise, self.release, round);
            let weight = |item: u32| sums[item as usize];
            observe(self.plan, &mut self.state.kept.items, &active, step, weight, self.control)?;
        }
        Ok(())
    }

    /// The weights of a round, added up by item. One user gives an item at most a unit, so sums have 64 bits.
    fn weigh(&mut self, norms: &[u64], importances: &[u16]) -> Result<Vec<u64>> {
        let caps = self.plan.caps_at(self.age());
        let accounts = &mut self.state.kept.accounts;
        let pairs = accounts.iter().map(|account| account.pairs.len()).sum();
        let threads = parallel::threads_for(pairs, self.control);
        let size = accounts.len().div_ceil(threads).max(1);
        let parts = accounts.chunks_mut(size).zip(norms.chunks(size)).collect();
        let rounds = self.plan.rounds;
        let sums = parallel::map(threads, parts, |(accounts, norms): (&mut [Account], &[u64])| {
            let mut sums = vec![0_u64; importances.len()];
            for (account, norm) in accounts.iter_mut().zip(norms) {
                account
                    .give((rounds, *norm), importances, caps, |item, weight| sums[item as usize] += weight)?;
            }
            Ok(sums)
        });
        let sums = sums.into_iter().collect::<Result<Vec<_>>>()?;
        let added = |mut all: Vec<u64>, more: Vec<u64>| {
            all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            all
        };
        // Otherwise: there are no users.
        Ok(sums.into_iter().reduce(added).unwrap_or_else(|| vec![0; importances.len()]))
    }

    /// Take the new items out.
    fn decide(&mut self) -> Vec<Item> {
        let threshold = self.plan.threshold(self.age());
        let mut new = Vec::new();
        for item in &mut self.state.kept.items {
            if item.walk.as_ref().is_some_and(|walk| walk.comes_out(threshold)) {
                item.walk = None;
                new.push(item.clone());
                (item.status, item.key) = (Status::Out, None);
            }
        }
        new
    }
}

/// One step of those of some items that have a walk.
fn observe(
    plan: &SeriesPlan,
    items: &mut [Item],
    active: &[u32],
    (key, release, round): (&ReleaseKey, u32, u32),
    weight: impl Fn(u32) -> u64,
    control: &Control,
) -> Result<()> {
    let digests: Vec<Digest> = active.iter().map(|item| items[*item as usize].digest).collect();
    let noise = ReleaseNoise::new(plan.sigma, key, round).of(&digests, control)?;
    let course = Course::after(plan, release, round);
    for (item, noise) in active.iter().zip(noise) {
        let place = &mut items[*item as usize];
        let goes_on = place.walk.as_mut().is_none_or(|walk| walk.observe(weight(*item), noise, &course));
        if !goes_on {
            place.pause();
        }
    }
    Ok(())
}
