//! One release of a series of numbers: a function of the set of rows, the state, the plan, the secret and the noise key.

use std::collections::{HashMap, HashSet};

use arrow_array::RecordBatch;
use dpsel_exact::random::{CodedWords, Digest};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{self, Contributions, ItemCode};
use dpsel_rows::ingest::{ColumnLayout, Columns, Key, PublicList, Source};
use dpsel_rows::runtime::Control;
use zeroize::Zeroizing;

use super::account::CountAccount;
use super::plan::{CountsPlan, CountsUnit};
use super::state::{CountedItem, Counts, CountsState};
use crate::bounding::Priorities;
use crate::release::{Beside, Numbers, publish_columns};
use crate::series::opening::begin;
use crate::series::release::{ReleaseRemains, SeriesKeys};
use crate::series::walk::ReleaseNoise;

/// The argument that names items.
const ITEMS: &str = "items=";
/// Users between two looks for an interruption.
const CHECKED: usize = 4096;
/// Stands for an item that is not public.
const NONE: u32 = u32::MAX;

/// Read the rows of the next release, and publish a number for each item that was named so far.
///
/// `state` is that of the release before, and none for the first one. `named` are items to be counted from now on. Rows
/// of the users `forget` are ignored from now on, for ever.
///
/// # Errors
/// See [`Error`]. Nothing is released then.
pub fn release_counts(
    plan: &CountsPlan,
    keys: SeriesKeys<'_>,
    state: Option<Zeroizing<Vec<u8>>>,
    (source, columns): (Source, &Columns),
    named: Option<&PublicList>,
    forget: &[Digest],
    control: &Control,
) -> Result<ReleaseRemains> {
    let (mut state, source) = begin((plan, keys.secret), state, (source, columns), control)?;
    let layout = with_named(&mut state, named, columns, keys)?;
    let rows = contributions::read_in_order(source, &contributions::RowOrder::Any, keys.secret, control)?;
    state.release += 1;
    let mut counting = Counting { plan, keys, control, release: state.release, state };
    counting.make(&rows, forget)?;
    drop(rows);
    let state = counting.state;
    let items = items_of(&layout, &state, keys)?;
    let numbers: Vec<i64> = state.kept.items.iter().map(|item| plan.number(&item.noisy)).collect();
    let numbers = Some(Numbers::of_users(&numbers));
    let items = publish_columns(&items, Beside { numbers, ..Beside::default() })?;
    Ok(ReleaseRemains { state: state.into_bytes(plan, keys.secret)?, items })
}

/// Add the items that are named now; the types of items from then on.
///
/// # Errors
/// [`Error::Schema`] for items of another kind than in the table; [`Error::Incompatible`] if none was ever named.
fn with_named(
    state: &mut CountsState,
    named: Option<&PublicList>,
    columns: &Columns,
    keys: SeriesKeys<'_>,
) -> Result<ColumnLayout> {
    let mut layout = ColumnLayout::from_text(&state.types, columns)?;
    if let Some(list) = named {
        layout = name(state, list, (layout, columns), keys)?;
        state.types = layout.to_text()?;
    }
    if state.kept.items.is_empty() {
        return Err(Error::Incompatible {
            what: "no item was named so far, so there is nothing to count".into(),
            fix: "give items= a list of public items, such as those that came out before",
        });
    }
    Ok(layout)
}

/// Add the items of a list that were not named before, in the order of their digests. They decide the types in which items
/// come out if the table declares none.
fn name(
    state: &mut CountsState,
    list: &PublicList,
    (layout, columns): (ColumnLayout, &Columns),
    keys: SeriesKeys<'_>,
) -> Result<ColumnLayout> {
    // An empty list has no types of its own.
    let layout = if list.is_empty() { layout } else { list.complete(layout, columns)? };
    let (source, types) = list.in_types_of(&layout, columns, ITEMS)?;
    let control = Control::new(None, None);
    let read = contributions::read(source, &columns.of_list(), None, keys.secret, &control)?;
    let known: HashSet<Digest> = state.kept.items.iter().map(|item| item.digest).collect();
    let codes: HashSet<u32> = read.items_by_user().flatten().copied().collect();
    let new = codes.into_iter().map(|code| {
        let key = read.vocabulary.key(ItemCode(code));
        CountedItem::new(key.digest, key.long.map(Into::into))
    });
    let mut new: Vec<CountedItem> = new.filter(|item| !known.contains(&item.digest)).collect();
    new.sort_unstable_by_key(|item| item.digest);
    let is_first = state.kept.items.is_empty();
    state.kept.items.extend(new);
    let layout = if list.is_empty() { layout } else { layout.with_listed(&types, is_first, ITEMS)? };
    items_of(&layout, state, keys).map_err(|_| ColumnLayout::no_common_type(ITEMS))?;
    Ok(layout)
}

/// The public items, in the order of the state.
fn items_of(layout: &ColumnLayout, state: &CountsState, keys: SeriesKeys<'_>) -> Result<RecordBatch> {
    let known = state.kept.items.iter().map(|item| Key { digest: item.digest, long: item.key.as_deref() });
    let (schema, types) = layout.listed_schema()?;
    types.restore(schema.decode(known, keys.secret)?)
}

/// A release on its way.
struct Counting<'a> {
    plan: &'a CountsPlan,
    keys: SeriesKeys<'a>,
    control: &'a Control,
    state: CountsState,
    /// Its number, from 1.
    release: u32,
}

impl Counting<'_> {
    /// Count, and add one noisy value to each item.
    fn make(&mut self, rows: &Contributions, forget: &[Digest]) -> Result<()> {
        // Where users counted, they stay.
        self.state.forget(forget);
        let counts = self.count(rows)?;
        let digests: Vec<Digest> = self.state.kept.items.iter().map(|item| item.digest).collect();
        let noise = ReleaseNoise::new(self.plan.sigma, self.keys.noise, 1).of(&digests, self.control)?;
        for ((item, users), noise) in self.state.kept.items.iter_mut().zip(counts).zip(noise) {
            item.users.push(users);
            let of = |(users, weight): (&u64, &u64)| i128::from(*users) * i128::from(*weight);
            let sum: i128 = item.users.iter().rev().zip(&self.plan.weights).map(of).sum();
            item.noisy.push(sum + i128::from(noise));
        }
        Ok(())
    }

    /// The users of each item in this release, as far as their accounts allow.
    fn count(&mut self, rows: &Contributions) -> Result<Vec<u64>> {
        let costs = self.plan.costs(self.release);
        let limit = (costs.as_slice(), self.plan.norm());
        let places = self.places(rows);
        let priorities = Priorities::new(self.keys.secret);
        let CountsState { kept: Counts { items, accounts }, forgotten, .. } = &mut self.state;
        let before = accounts.len();
        let mut counts = vec![0_u64; items.len()];
        let (mut held, mut keyed) = (Vec::new(), CodedWords::default());
        for (user, digest) in rows.users.iter().enumerate() {
            held.clear();
            held.extend(
                rows.items_of(user).iter().map(|code| places[*code as usize]).filter(|at| *at != NONE),
            );
            if held.is_empty() || forgotten.binary_search(digest).is_ok() {
                continue;
            }
            let all = held.len();
            priorities.order(*digest, &mut held, |item| items[item as usize].digest, all, &mut keyed);
            let known = accounts[..before].binary_search_by_key(digest, |account| account.digest);
            let at = known.unwrap_or_else(|_| {
                accounts.push(CountAccount::new(*digest));
                accounts.len() - 1
            });
            for item in &held {
                let counts_here = accounts[at].count((*item, self.release), self.plan, limit);
                counts[*item as usize] += u64::from(counts_here);
            }
            if user % CHECKED == 0 {
                self.control.check()?;
            }
        }
        self.settle();
        Ok(counts)
    }

    /// The place of the item of each code.
    fn places(&self, rows: &Contributions) -> Vec<u32> {
        let known: HashMap<Digest, u32> =
            self.state.kept.items.iter().zip(0_u32..).map(|(item, place)| (item.digest, place)).collect();
        let digests = rows.vocabulary.digests_from(0..rows.vocabulary.code_bound());
        digests.iter().map(|digest| known.get(digest).copied().unwrap_or(NONE)).collect() // Otherwise: not public.
    }

    /// Bring accounts into order. Where each release of a user is protected alone, none is kept.
    fn settle(&mut self) {
        match self.plan.asked.unit {
            CountsUnit::User => self.state.kept.accounts.sort_unstable_by_key(|account| account.digest),
            CountsUnit::UserRelease => self.state.kept.accounts.clear(),
        }
    }
}
