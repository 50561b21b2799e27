//! What a series of numbers keeps between two releases: all counts, noisy values and accounts.

use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_exact::random::bytes::push_digest;

use super::account::CountAccount;
use super::plan::CountsPlan;
use crate::series::state::{Kept, Planned, State};
use crate::series::wire::{WireReader, damaged, is_rising, push_bytes, push_integer, push_list, push_signed};

/// The state of a series of numbers.
pub(super) type CountsState = State<Counts>;

/// What is known of items and users.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// In the order in which they were named, those of one release sorted by digest.
    pub(super) items: Vec<CountedItem>,
    /// Sorted by digest. Empty where each release of a user is protected alone.
    pub(super) accounts: Vec<CountAccount>,
}

/// A public item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountedItem {
    pub(super) digest: Digest,
    /// The key where the digest does not tell it.
    pub(super) key: Option<Box<[u8]>>,
    /// The users that counted in each release since it was named.
    pub(super) users: Vec<u64>,
    /// The noisy values of the same releases, in grid steps.
    pub(super) noisy: Vec<i128>,
}

impl Planned for CountsPlan {
    fn releases(&self) -> u32 {
        self.asked.releases
    }

    fn text(&self) -> Result<String> {
        self.to_json()
    }
}

impl Kept for Counts {
    const START: &[u8; 16] = b"dpsel.counts.v1\0";
    type Plan = CountsPlan;

    fn push(self, out: &mut Vec<u8>) {
        push_list(self.items, out, CountedItem::push);
        push_list(self.accounts, out, push_account);
    }

    fn read(read: &mut WireReader<'_>, release: u32, plan: &CountsPlan) -> Result<Self> {
        let items = read.list(19, |read| CountedItem::read(read, release))?;
        let places = u32::try_from(items.len()).map_err(|_| damaged())?;
        let accounts = read.list(18, |read| read_account(read, (release, places), plan.norm()))?;
        let is_sorted = accounts.is_sorted_by(|a: &CountAccount, b| a.digest < b.digest);
        if is_sorted { Ok(Self { items, accounts }) } else { Err(damaged()) }
    }

    fn forget(&mut self, users: &[Digest]) {
        self.accounts.retain(|account| users.binary_search(&account.digest).is_err());
    }
}

impl CountedItem {
    /// An item that is named now.
    pub(super) fn new(digest: Digest, key: Option<Box<[u8]>>) -> Self {
        Self { digest, key, users: Vec::new(), noisy: Vec::new() }
    }

    fn push(self, out: &mut Vec<u8>) {
        push_digest(self.digest, out);
        out.push(u8::from(self.key.is_some()));
        if let Some(key) = &self.key {
            push_bytes(key, out);
        }
        push_integer(self.users.len() as u64, out);
        self.users.iter().for_each(|users| push_integer(*users, out));
        self.noisy.iter().for_each(|noisy| push_signed(*noisy, out));
    }

    fn read(read: &mut WireReader<'_>, release: u32) -> Result<Self> {
        let digest = read.digest()?;
        let key = match read.byte()? {
            0 => None,
            1 => Some(read.bytes()?.into()),
            _ => return Err(damaged()),
        };
        let number: u32 = read.integer(release)?;
        let users = (0..number).map(|_| read.integer(u64::MAX >> 1)).collect::<Result<_>>()?;
        let noisy = (0..number).map(|_| read.signed()).collect::<Result<_>>()?;
        Ok(Self { digest, key, users, noisy })
    }
}

fn push_account(account: CountAccount, out: &mut Vec<u8>) {
    let CountAccount { digest, spent, items } = account;
    push_digest(digest, out);
    push_integer(spent, out);
    push_list(items, out, |(item, releases), out| {
        push_integer(item, out);
        push_list(releases, out, push_integer);
    });
}

fn read_account(
    read: &mut WireReader<'_>,
    (release, places): (u32, u32),
    norm: u128,
) -> Result<CountAccount> {
    let (digest, spent) = (read.digest()?, read.integer(norm)?);
    let items = read.list(3, |read| {
        let place = read.integer(places.checked_sub(1).ok_or_else(damaged)?)?;
        let releases: Vec<u32> = read.list(1, |read| read.integer(release))?;
        let is_sound = is_rising(&releases) && releases.first().is_some_and(|first| *first > 0);
        if is_sound { Ok((place, releases)) } else { Err(damaged()) }
    })?;
    if !items.is_sorted_by(|(a, _): &(u32, _), (b, _)| a < b) {
        return Err(damaged());
    }
    Ok(CountAccount { digest, spent, items })
}
