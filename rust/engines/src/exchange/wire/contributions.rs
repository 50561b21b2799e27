//! Contributions as bytes, with a dictionary.
//!
//! The dictionary has the digest of each distinct item once. Each user refers to its items by their places in the
//! dictionary. Frequent items come early, so their places are small integers of one or two bytes.
//!
//! Layout, all little-endian: the number of users (`u32`); the [dictionary](super::dictionary); for each user its
//! digest, the number of its items and their places, as integers of variable length.

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_rows::contributions::{
    ContributionsBuilder, ItemCode, KeyStore, Lineage, Payload, UserCode, Worker,
};

use super::dictionary::Dictionaries;
use super::user_lists::Listed;
use dpsel_exact::random::bytes::{CORRUPT, push_digest, push_integer, take_digest, take_integer, take_u32};

/// Bytes of a digest.
const DIGEST: usize = size_of::<u128>();
/// Bytes of the level of an item and of the places of those above it, at most.
const LINE: usize = 2 + 2 * 5;
/// Rows handed to a builder at once.
const ROWS: usize = 1 << 16;

/// Packs users of one table, a number of them in each packed value.
#[derive(Debug)]
pub(crate) struct Packer<'a, D> {
    digest: D,
    lineage: Option<&'a Lineage>,
    dictionaries: &'a Dictionaries,
    /// For each item code its place in the dictionary plus one, or 0.
    places: Vec<u32>,
    dictionary: Vec<u32>,
    /// Which places stand above which, if items stand above others.
    lines: Option<Lineage>,
    users: u32,
    body: Vec<u8>,
}

impl<'a, D: Fn(u32) -> Digest> Packer<'a, D> {
    /// `digest` has that of each code below `bound`.
    pub(crate) fn new(
        (digest, lineage): (D, Option<&'a Lineage>),
        bound: usize,
        dictionaries: &'a Dictionaries,
    ) -> Self {
        let (places, dictionary, body) = (vec![0; bound], Vec::new(), Vec::new());
        let lines = lineage.map(|_| Lineage::default());
        Self { digest, lineage, dictionaries, places, dictionary, lines, users: 0, body }
    }

    /// The most bytes that the current packed value can have so far.
    pub(crate) fn bytes(&self) -> usize {
        let item = DIGEST + if self.lineage.is_some() { LINE } else { 0 };
        9 + self.dictionary.len() * item + self.body.len()
    }

    /// Add a user with its items, some at least. Where items stand above others, it has those above each.
    pub(crate) fn add_user(&mut self, user: Digest, items: &[u32]) {
        self.users += 1;
        push_digest(user, &mut self.body);
        push_integer(items.len() as u64, &mut self.body);
        for &item in items {
            let place = self.place(item);
            push_integer(place.into(), &mut self.body);
        }
    }

    /// The place of an item in the dictionary, in which those above it come first.
    fn place(&mut self, item: u32) -> u32 {
        if let Some(place) = self.places[item as usize].checked_sub(1) {
            return place;
        }
        if let Some(lineage) = self.lineage {
            let above: Vec<u32> = lineage.above(item).map(|above| self.place(above)).collect();
            self.lines.iter_mut().for_each(|lines| lines.push(lineage.level(item), above.iter().copied()));
        }
        self.dictionary.push(item);
        self.places[item as usize] = codes(self.dictionary.len());
        codes(self.dictionary.len() - 1)
    }

    /// End the current packed value; `None` if no user was added to it.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        if self.users == 0 {
            return None;
        }
        let mut packed = Vec::with_capacity(self.bytes());
        packed.extend(std::mem::take(&mut self.users).to_le_bytes());
        let items = self.dictionary.drain(..).map(|item| {
            self.places[item as usize] = 0;
            (self.digest)(item)
        });
        self.dictionaries.push(&items.collect::<Vec<_>>(), self.lines.as_ref(), &mut packed);
        self.lines.iter_mut().for_each(Lineage::clear);
        packed.append(&mut self.body);
        Some(packed)
    }
}

/// Packed items have digests and no names: names are looked up at the end.
struct Nameless;

impl Payload for Nameless {
    fn append_to(&self, _rows: impl ExactSizeIterator<Item = usize> + Clone, _store: &mut KeyStore) {}
}

/// The users of packed contributions, without a table of their items.
#[derive(Debug)]
pub(crate) enum PackedUsers<'a> {
    /// So many users, with places in a dictionary of so many items, and which of these stand above which, if some do.
    Placed { users: u32, items: usize, lines: Option<Lineage>, rest: &'a [u8] },
    /// The dictionary has the items of one user after the other.
    Listed(Listed<'a>),
}

impl<'a> PackedUsers<'a> {
    /// Add the items of the dictionary to others.
    ///
    /// # Errors
    /// [`Error::Internal`](dpsel_exact::Error::Internal) if it is damaged.
    pub(crate) fn unpack(
        packed: &'a [u8],
        dictionaries: &Dictionaries,
        items: &mut Vec<Digest>,
    ) -> Result<Self> {
        if let Some(users) = Listed::unpack(packed, dictionaries, items)? {
            return Ok(Self::Listed(users));
        }
        let (first, mut rest) = (items.len(), packed);
        let users = take_u32(&mut rest)?;
        let lines = dictionaries.take(&mut rest, items)?;
        Ok(Self::Placed { users, items: items.len() - first, lines, rest })
    }

    /// Which places of the dictionary stand above which, if some do.
    pub(crate) fn lines(&mut self) -> Option<Lineage> {
        match self {
            Self::Placed { lines, .. } => lines.take(),
            Self::Listed(_) => None,
        }
    }

    /// Hand out each user, with the places of its items in the dictionary.
    ///
    /// # Errors
    /// [`Error::Internal`](dpsel_exact::Error::Internal) if the value is damaged; those of `each`.
    pub(crate) fn each(&self, mut each: impl FnMut(Digest, &[u32]) -> Result<()>) -> Result<()> {
        let mut places = Vec::new();
        let (users, known, mut rest) = match self {
            Self::Placed { users, items, rest, .. } => (*users, *items, *rest),
            Self::Listed(listed) => {
                let mut end = 0;
                return listed.each().try_for_each(|(user, items)| {
                    let start = end;
                    end += items;
                    places.clear();
                    places.extend(start..end);
                    each(user, &places)
                });
            }
        };
        for _ in 0..users {
            let user = take_digest(&mut rest)?;
            let items = take_integer(&mut rest)?;
            places.clear();
            for _ in 0..items {
                let place = u32::try_from(take_integer(&mut rest)?).map_err(|_| CORRUPT)?;
                if place as usize >= known {
                    return Err(CORRUPT);
                }
                places.push(place);
            }
            each(user, &places)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(CORRUPT) }
    }
}

/// Add packed contributions to a builder, and return the number of their rows.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if they are damaged; the limits of the builder.
pub(crate) fn unpack(
    packed: &[u8],
    dictionaries: &Dictionaries,
    builder: &ContributionsBuilder,
) -> Result<usize> {
    let (mut worker, mut items) = (builder.worker(), Vec::new());
    let packed = PackedUsers::unpack(packed, dictionaries, &mut items)?;
    let mut codes: Vec<ItemCode> = Vec::with_capacity(items.len());
    worker.intern(&items, &Nameless, &mut codes)?;
    let mut rows = BuilderRows { worker, users: Vec::new(), lens: Vec::new(), items: Vec::new() };
    let mut total = 0;
    packed.each(|user, places| {
        total += places.len();
        for part in places.chunks(ROWS) {
            if rows.items.len() >= ROWS {
                rows.flush()?;
            }
            rows.users.push(user);
            rows.items.extend(part.iter().map(|place| codes[*place as usize]));
            rows.lens.push(u32::try_from(part.len()).map_err(|_| CORRUPT)?);
        }
        Ok(())
    })?;
    rows.flush()?;
    Ok(total)
}

/// Rows on their way to a builder.
struct BuilderRows<'a> {
    worker: Worker<'a>,
    users: Vec<Digest>,
    lens: Vec<u32>,
    items: Vec<ItemCode>,
}

impl BuilderRows<'_> {
    fn flush(&mut self) -> Result<()> {
        let mut codes: Vec<UserCode> = Vec::with_capacity(self.users.len());
        self.worker.intern(&self.users, &Nameless, &mut codes)?;
        self.worker.push(&codes, Some(&self.lens), &self.items)?;
        self.users.clear();
        self.lens.clear();
        self.items.clear();
        Ok(())
    }
}
