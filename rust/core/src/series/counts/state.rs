//! The state of a series of numbers between two releases.

use dpsel_exact::Result;
use dpsel_exact::random::bytes::push_digest;
use dpsel_exact::random::{Digest, Purpose, ReleaseKey};
use zeroize::Zeroizing;

use super::account::CountAccount;
use super::plan::CountsPlan;
use crate::series::wire::{WireReader, damaged, push_bytes, push_integer, push_signed};

/// The first bytes, with the version of the form.
const START: &[u8; 16] = b"dpsel.counts.v1\0";
const TAG: usize = 32;

/// What is known of a series of numbers after some releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CountsState {
    /// The number of releases so far.
    pub(super) release: u32,
    /// The columns as they were named, and their types.
    pub(super) columns: String,
    pub(super) types: String,
    /// In the order in which they were named, those of one release sorted by digest.
    pub(super) items: Vec<CountedItem>,
    /// Sorted by digest. Empty where each release of a user is protected alone.
    pub(super) accounts: Vec<CountAccount>,
    /// Users whose rows are ignored for ever, sorted.
    pub(super) forgotten: Vec<Digest>,
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

impl CountsState {
    /// The state as bytes. A keyed digest stands at the end.
    pub(super) fn to_bytes(&self, plan: &CountsPlan, secret: &ReleaseKey) -> Result<Zeroizing<Vec<u8>>> {
        let mut out = Zeroizing::new(Vec::new());
        out.extend(START);
        out.extend(fingerprint(plan)?);
        push_integer(self.release, &mut out);
        push_bytes(self.columns.as_bytes(), &mut out);
        push_bytes(self.types.as_bytes(), &mut out);
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
    pub(super) fn from_bytes(bytes: &[u8], plan: &CountsPlan, secret: &ReleaseKey) -> Result<Self> {
        let (content, tag) = bytes.split_last_chunk::<TAG>().ok_or_else(damaged)?;
        if secret.hash(Purpose::State, content) != *tag {
            return Err(damaged());
        }
        Self::parse(content, plan)
    }

    /// The state of bytes without their digest.
    pub(super) fn parse(content: &[u8], plan: &CountsPlan) -> Result<Self> {
        let mut read = WireReader(content);
        if read.array()? != *START || read.array()? != fingerprint(plan)? {
            return Err(damaged());
        }
        let release = read.integer(plan.asked.releases)?;
        let (columns, types) = (read.text()?, read.text()?);
        let number = read.count(19)?;
        let items: Vec<_> =
            (0..number).map(|_| CountedItem::read(&mut read, release)).collect::<Result<_>>()?;
        let places = u32::try_from(number).map_err(|_| damaged())?;
        let number = read.count(18)?;
        let account = |_| read_account(&mut read, (release, places), plan.norm());
        let accounts: Vec<_> = (0..number).map(account).collect::<Result<_>>()?;
        let number = read.count(16)?;
        let forgotten: Vec<Digest> = (0..number).map(|_| read.digest()).collect::<Result<_>>()?;
        let is_sorted = accounts.is_sorted_by(|a: &CountAccount, b| a.digest < b.digest)
            && forgotten.is_sorted_by(|a, b| a < b);
        if !is_sorted || !read.0.is_empty() {
            return Err(damaged());
        }
        Ok(Self { release, columns, types, items, accounts, forgotten })
    }
}

impl CountedItem {
    /// An item that is named now.
    pub(super) fn new(digest: Digest, key: Option<Box<[u8]>>) -> Self {
        Self { digest, key, users: Vec::new(), noisy: Vec::new() }
    }

    fn push(&self, out: &mut Vec<u8>) {
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

fn push_account(account: &CountAccount, out: &mut Vec<u8>) {
    let CountAccount { digest, spent, items } = account;
    push_digest(*digest, out);
    push_integer(*spent, out);
    push_integer(items.len() as u64, out);
    for (item, releases) in items {
        push_integer(*item, out);
        push_integer(releases.len() as u64, out);
        for release in releases {
            push_integer(*release, out);
        }
    }
}

fn read_account(
    read: &mut WireReader<'_>,
    (release, places): (u32, u32),
    norm: u128,
) -> Result<CountAccount> {
    let (digest, spent) = (read.digest()?, read.integer(norm)?);
    let number = read.count(3)?;
    let mut item = || {
        let place = read.integer(places.checked_sub(1).ok_or_else(damaged)?)?;
        let number = read.count(1)?;
        let releases: Vec<u32> = (0..number).map(|_| read.integer(release)).collect::<Result<_>>()?;
        let is_rising =
            releases.is_sorted_by(|a, b| a < b) && releases.first().is_some_and(|first| *first > 0);
        if is_rising { Ok((place, releases)) } else { Err(damaged()) }
    };
    let items: Vec<(u32, Vec<u32>)> = (0..number).map(|_| item()).collect::<Result<_>>()?;
    if !items.is_sorted_by(|(a, _), (b, _)| a < b) {
        return Err(damaged());
    }
    Ok(CountAccount { digest, spent, items })
}

/// What tells plans apart.
fn fingerprint(plan: &CountsPlan) -> Result<[u8; 32]> {
    Ok(*blake3::hash(plan.to_json()?.as_bytes()).as_bytes())
}
