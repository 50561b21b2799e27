//! What a series of lists keeps between two releases: all accounts, walks and ranks.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_exact::random::bytes::push_digest;
use zeroize::Zeroizing;

use super::account::{Account, Pair};
use super::plan::{MOST_RELEASES, NORM, SeriesPlan};
use super::state::{Kept, Planned, State};
use super::walk::Walk;
use super::wire::{WireReader, damaged, push_bytes, push_integer, push_list, push_signed};
use crate::weighting::FULL_IMPORTANCE;

/// Bits of the byte of an item: whether it is out, and what follows.
const STATUS: u8 = 0b11;
const HAS_KEY: u8 = 4;
const HAS_WALK: u8 = 8;
const IS_PAUSED: u8 = 16;
/// More than any sum of a walk or of a pair.
const LARGEST: u64 = 1 << 62;

/// The state of a series of lists.
pub(super) type SeriesState = State<Scores>;

/// What is known of items and users.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Scores {
    /// The noise keys of the releases of the running block, where items that appear later need its noise.
    pub(super) noise_keys: Vec<Zeroizing<[u8; 32]>>,
    /// Sorted by digest, as accounts are.
    pub(super) items: Vec<Item>,
    pub(super) accounts: Vec<Account>,
}

/// An item that is out, or that may come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) digest: Digest,
    pub(super) status: Status,
    /// The key where the digest does not tell it.
    pub(super) key: Option<Box<[u8]>>,
    /// Of an item in play, from when it first has a ranked pair in the block. Most items are paused and have none.
    pub(super) walk: Option<Box<Walk>>,
}

/// Whether an item is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Not yet.
    InPlay = 0,
    /// Since a release of the running block.
    Out = 1,
    /// Since before the running block.
    WasOut = 2,
    /// Not yet, and it gets neither weight nor noise until the block ends.
    Paused = 3,
}

impl Planned for SeriesPlan {
    fn releases(&self) -> u32 {
        self.asked.releases
    }

    fn text(&self) -> Result<String> {
        self.to_json()
    }
}

impl Kept for Scores {
    const START: &[u8; 16] = b"dpsel.series.v1\0";
    type Plan = SeriesPlan;

    fn push(self, out: &mut Vec<u8>) {
        push_list(self.noise_keys, out, |key, out| out.extend(key.as_slice()));
        push_list(self.items, out, Item::push);
        push_list(self.accounts, out, push_account);
    }

    fn read(read: &mut WireReader<'_>, release: u32, plan: &SeriesPlan) -> Result<Self> {
        let noise_keys = read.list(32, |read| read.array().map(Zeroizing::new))?;
        let items = read.list(17, Item::read)?;
        let most = u32::try_from(items.len()).map_err(|_| damaged())?;
        let accounts = read.list(21, |read| read_account(read, (release, most), plan))?;
        let is_sorted = items.is_sorted_by(|a, b| a.digest < b.digest)
            && accounts.is_sorted_by(|a, b| a.digest < b.digest);
        if is_sorted { Ok(Self { noise_keys, items, accounts }) } else { Err(damaged()) }
    }

    fn forget(&mut self, users: &[Digest]) {
        self.accounts.retain(|account| users.binary_search(&account.digest).is_err());
    }
}

impl Scores {
    /// Bring items and accounts into the order of their digests, and leave out items that nobody needs any more.
    pub(super) fn settle(&mut self) {
        let mut is_kept: Vec<bool> =
            self.items.iter().map(|item| item.walk.is_some() || item.status != Status::InPlay).collect();
        for account in &self.accounts {
            account.items().for_each(|item| is_kept[item as usize] = true);
        }
        let mut order: Vec<u32> =
            (0..).zip(&is_kept).filter(|(_, is_kept)| **is_kept).map(|(at, _)| at).collect();
        order.sort_unstable_by_key(|item| self.items[*item as usize].digest);
        let mut places = vec![u32::MAX; self.items.len()];
        for (place, item) in (0_u32..).zip(order) {
            places[item as usize] = place;
        }
        let mut is_kept = is_kept.into_iter();
        // Otherwise: there are as many as items.
        self.items.retain(|_| is_kept.next().unwrap_or(true));
        self.items.sort_unstable_by_key(|item| item.digest);
        for account in &mut self.accounts {
            account.pairs.iter_mut().for_each(|pair| pair.item = places[pair.item as usize]);
            account.queue.iter_mut().for_each(|item| *item = places[*item as usize]);
        }
        self.accounts.sort_unstable_by_key(|account| account.digest);
    }
}

impl Item {
    pub(super) fn was_out(&self) -> bool {
        self.status == Status::WasOut
    }

    /// Nothing is known of its walk any more.
    pub(super) fn pause(&mut self) {
        (self.status, self.walk) = (Status::Paused, None);
    }

    fn push(self, out: &mut Vec<u8>) {
        let status = match self.status {
            Status::Paused => Status::InPlay as u8 | HAS_WALK | IS_PAUSED,
            status @ (Status::InPlay | Status::Out | Status::WasOut) => status as u8,
        };
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        push_digest(self.digest, out);
        out.push(status | flag(self.key.is_some(), HAS_KEY) | flag(self.walk.is_some(), HAS_WALK));
        if let Some(key) = &self.key {
            push_bytes(key, out);
        }
        if let Some(walk) = self.walk {
            push_signed(walk.score, out);
            push_signed(walk.noise, out);
            push_integer(walk.exposure, out);
            push_integer(walk.importance, out);
        }
    }

    fn read(read: &mut WireReader<'_>) -> Result<Self> {
        let (digest, byte) = (read.digest()?, read.byte()?);
        let (status, has_walk) = match (byte & STATUS, byte & (HAS_WALK | IS_PAUSED)) {
            (0, 0) => (Status::InPlay, false),
            (0, HAS_WALK) => (Status::InPlay, true),
            (0, PAUSED) => (Status::Paused, false),
            (1, 0) => (Status::Out, false),
            (2, 0) => (Status::WasOut, false),
            _ => return Err(damaged()),
        };
        let key = if byte & HAS_KEY == 0 { None } else { Some(read.bytes()?.into()) };
        let walk = if has_walk { Some(Box::new(read_walk(read)?)) } else { None };
        Ok(Self { digest, status, key, walk })
    }
}

/// Of an item that is paused.
const PAUSED: u8 = HAS_WALK | IS_PAUSED;

fn read_walk(read: &mut WireReader<'_>) -> Result<Walk> {
    let (score, noise, exposure) = (read.signed()?, read.signed()?, read.integer(1_u64 << 48)?);
    let importance = read.integer(FULL_IMPORTANCE)?;
    if importance == 0 { Err(damaged()) } else { Ok(Walk { score, noise, exposure, importance }) }
}

fn push_account(account: Account, out: &mut Vec<u8>) {
    let Account { digest, left, first, ranked, pairs, queue } = account;
    push_digest(digest, out);
    push_integer(left, out);
    push_integer(first, out);
    push_integer(ranked, out);
    push_list(pairs, out, |Pair { item, place, given }, out| {
        push_integer(item, out);
        out.push(place);
        push_integer(given, out);
    });
    push_list(queue, out, push_integer);
}

fn read_account(
    read: &mut WireReader<'_>,
    (release, items): (u32, u32),
    plan: &SeriesPlan,
) -> Result<Account> {
    let last_item = || items.checked_sub(1).ok_or_else(damaged);
    let digest = read.digest()?;
    let (left, first) = (read.integer(NORM)?, read.integer(release)?);
    let ranked = read.integer(plan.asked.max_items_per_user.get())?;
    let pairs = read.list(3, |read| {
        let item = read.integer(last_item()?)?;
        let place = read.byte()?;
        let given = read.integer(LARGEST)?;
        if usize::from(place) < plan.ranks.len() { Ok(Pair { item, place, given }) } else { Err(damaged()) }
    })?;
    let queue = read.list(1, |read| read.integer(last_item()?))?;
    if !(1..=MOST_RELEASES).contains(&first) {
        return Err(damaged());
    }
    Ok(Account { digest, left, first, ranked, pairs, queue })
}
