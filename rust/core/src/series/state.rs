//! The state of a series between two releases: all accounts, walks and ranks, in an order that no row decides.

use dpsel_exact::Result;
use dpsel_exact::random::bytes::push_digest;
use dpsel_exact::random::{Digest, Purpose, ReleaseKey};
use zeroize::Zeroizing;

use super::account::{Account, Pair};
use super::plan::{MOST_RELEASES, NORM, SeriesPlan};
use super::walk::Walk;
use super::wire::{WireReader, damaged, push_bytes, push_integer, push_signed};
use crate::weighting::FULL_IMPORTANCE;

/// The first bytes, with the version of the form.
const START: &[u8; 16] = b"dpsel.series.v1\0";
const TAG: usize = 32;
/// Bits of the byte of an item: its status, and what follows.
const STATUS: u8 = 0b11;
const HAS_KEY: u8 = 4;
const HAS_WALK: u8 = 8;
const IS_PAUSED: u8 = 16;
/// More than any sum of a walk or of a pair.
const LARGEST: u64 = 1 << 62;

/// What is known of a series after some releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct State {
    /// The number of releases so far.
    pub(super) release: u32,
    /// The columns as they were named, and their types.
    pub(super) columns: String,
    pub(super) types: String,
    /// The noise keys of the releases of the running block, where items that appear later need its noise.
    pub(super) noise_keys: Vec<Zeroizing<[u8; 32]>>,
    /// Sorted by digest, as all that follows.
    pub(super) items: Vec<Item>,
    pub(super) accounts: Vec<Account>,
    /// Users whose rows are ignored for ever.
    pub(super) forgotten: Vec<Digest>,
}

/// An item that is out, or that may come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) digest: Digest,
    pub(super) status: Status,
    /// The key where the digest does not tell it.
    pub(super) key: Option<Box<[u8]>>,
    /// There from when the item first has a ranked pair in the block.
    pub(super) walk: Option<Walk>,
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
}

impl State {
    /// The state as bytes. Items that nobody holds, without a walk, are left out. A keyed digest stands at the end.
    pub(super) fn to_bytes(&self, plan: &SeriesPlan, secret: &ReleaseKey) -> Result<Zeroizing<Vec<u8>>> {
        let mut out = Zeroizing::new(Vec::new());
        out.extend(START);
        out.extend(fingerprint(plan)?);
        push_integer(self.release, &mut out);
        push_bytes(self.columns.as_bytes(), &mut out);
        push_bytes(self.types.as_bytes(), &mut out);
        push_integer(self.noise_keys.len() as u64, &mut out);
        self.noise_keys.iter().for_each(|key| out.extend(key.as_slice()));
        push_integer(self.items.len() as u64, &mut out);
        self.items.iter().for_each(|item| item.push(&mut out));
        push_integer(self.accounts.len() as u64, &mut out);
        self.accounts.iter().for_each(|account| push_account(account, &mut out));
        push_integer(self.forgotten.len() as u64, &mut out);
        self.forgotten.iter().for_each(|user| push_digest(*user, &mut out));
        let tag = secret.hash(Purpose::State, &out);
        out.extend(tag);
        Ok(out)
    }

    /// The state that [`Self::to_bytes`] wrote with this plan and this secret.
    ///
    /// # Errors
    /// [`Error::Data`](dpsel_exact::Error::Data) if it is none.
    pub(super) fn from_bytes(bytes: &[u8], plan: &SeriesPlan, secret: &ReleaseKey) -> Result<Self> {
        let (content, tag) = bytes.split_last_chunk::<TAG>().ok_or_else(damaged)?;
        if secret.hash(Purpose::State, content) != *tag {
            return Err(damaged());
        }
        Self::parse(content, plan)
    }

    /// The state of bytes without their digest.
    pub(super) fn parse(content: &[u8], plan: &SeriesPlan) -> Result<Self> {
        let mut read = WireReader(content);
        if read.array()? != *START || read.array()? != fingerprint(plan)? {
            return Err(damaged());
        }
        let release = read.integer(plan.asked.releases)?;
        let (columns, types) = (read.text()?, read.text()?);
        let keys = read.count(32)?;
        let noise_keys = (0..keys).map(|_| read.array().map(Zeroizing::new)).collect::<Result<_>>()?;
        let number = read.count(17)?;
        let items: Vec<Item> = (0..number).map(|_| Item::read(&mut read)).collect::<Result<_>>()?;
        let most_items = u32::try_from(number).map_err(|_| damaged())?;
        let number = read.count(21)?;
        let account = |_| read_account(&mut read, (release, most_items), plan);
        let accounts: Vec<Account> = (0..number).map(account).collect::<Result<_>>()?;
        let number = read.count(16)?;
        let forgotten: Vec<Digest> = (0..number).map(|_| read.digest()).collect::<Result<_>>()?;
        let is_sorted = items.is_sorted_by(|a, b| a.digest < b.digest)
            && accounts.is_sorted_by(|a, b| a.digest < b.digest)
            && forgotten.is_sorted_by(|a, b| a < b);
        if !is_sorted || !read.0.is_empty() {
            return Err(damaged());
        }
        Ok(Self { release, columns, types, noise_keys, items, accounts, forgotten })
    }

    /// Bring items and accounts into the order of their digests, and leave out items that are not needed any more.
    pub(super) fn settle(&mut self) {
        let mut is_held = vec![false; self.items.len()];
        for account in &self.accounts {
            let ranked = account.pairs.iter().map(|pair| pair.item);
            ranked.chain(account.queue.iter().copied()).for_each(|item| is_held[item as usize] = true);
        }
        let is_kept = |item: &Item, held| held || item.walk.is_some() || item.status != Status::InPlay;
        let mut order: Vec<u32> = (0..).take(self.items.len()).collect();
        order.retain(|item| is_kept(&self.items[*item as usize], is_held[*item as usize]));
        order.sort_unstable_by_key(|item| self.items[*item as usize].digest);
        let mut places = vec![u32::MAX; self.items.len()];
        for (place, item) in (0_u32..).zip(&order) {
            places[*item as usize] = place;
        }
        let mut items: Vec<Option<Item>> = std::mem::take(&mut self.items).into_iter().map(Some).collect();
        self.items = order.iter().filter_map(|item| items[*item as usize].take()).collect();
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

    fn push(&self, out: &mut Vec<u8>) {
        let is_paused = self.walk.as_ref().is_some_and(Walk::is_paused);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(self.key.is_some(), HAS_KEY)
            | flag(self.walk.is_some(), HAS_WALK)
            | flag(is_paused, IS_PAUSED);
        push_digest(self.digest, out);
        out.push(self.status as u8 | flags);
        if let Some(key) = &self.key {
            push_bytes(key, out);
        }
        if let Some(walk) = self.walk.as_ref().filter(|walk| !walk.is_paused()) {
            push_signed(walk.score, out);
            push_signed(walk.noise, out);
            push_integer(walk.exposure, out);
            push_integer(walk.importance, out);
        }
    }

    fn read(read: &mut WireReader<'_>) -> Result<Self> {
        let (digest, byte) = (read.digest()?, read.byte()?);
        let status = match byte & STATUS {
            0 => Status::InPlay,
            1 => Status::Out,
            2 => Status::WasOut,
            _ => return Err(damaged()),
        };
        let key = if byte & HAS_KEY == 0 { None } else { Some(read.bytes()?.into()) };
        let walk = match byte & (HAS_WALK | IS_PAUSED) {
            0 => None,
            HAS_WALK => Some(Walk {
                score: read.signed()?,
                noise: read.signed()?,
                exposure: read.integer(1_u64 << 48)?,
                importance: read.integer(FULL_IMPORTANCE)?,
            }),
            _ => Some(Walk::PAUSED),
        };
        Ok(Self { digest, status, key, walk })
    }
}

fn push_account(account: &Account, out: &mut Vec<u8>) {
    let Account { digest, left, first, ranked, pairs, queue } = account;
    push_digest(*digest, out);
    push_integer(*left, out);
    push_integer(*first, out);
    push_integer(*ranked, out);
    push_integer(pairs.len() as u64, out);
    for Pair { item, place, given } in pairs {
        push_integer(*item, out);
        out.push(*place);
        push_integer(*given, out);
    }
    push_integer(queue.len() as u64, out);
    for item in queue {
        push_integer(*item, out);
    }
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
    let number = read.count(3)?;
    let mut pair = || {
        let item = read.integer(last_item()?)?;
        let place = read.byte()?;
        let given = read.integer(LARGEST)?;
        if usize::from(place) < plan.ranks.len() { Ok(Pair { item, place, given }) } else { Err(damaged()) }
    };
    let pairs = (0..number).map(|_| pair()).collect::<Result<_>>()?;
    let number = read.count(1)?;
    let queue = (0..number).map(|_| read.integer(last_item()?)).collect::<Result<_>>()?;
    if !(1..=MOST_RELEASES).contains(&first) {
        return Err(damaged());
    }
    Ok(Account { digest, left, first, ranked, pairs, queue })
}

/// What tells plans apart.
fn fingerprint(plan: &SeriesPlan) -> Result<[u8; 32]> {
    Ok(*blake3::hash(plan.to_json()?.as_bytes()).as_bytes())
}
