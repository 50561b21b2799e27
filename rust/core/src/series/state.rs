//! The state of a series of any kind between two releases: what all kinds keep, around what one kind keeps.
//!
//! As bytes: a start, what tells plans apart, the number of releases, the columns and their types, what the kind keeps,
//! the users that are forgotten, and a keyed digest of all that. Nothing in it has an order that rows decide.

use dpsel_exact::Result;
use dpsel_exact::random::bytes::push_digest;
use dpsel_exact::random::{Digest, Purpose, ReleaseKey};
use zeroize::Zeroizing;

use super::wire::{WireReader, damaged, is_rising, push_bytes, push_integer, push_list};

const TAG: usize = 32;

/// What is known of a series after some releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct State<K> {
    /// The number of releases so far.
    pub(super) release: u32,
    /// The columns as they were named, and their types.
    pub(super) columns: String,
    pub(super) types: String,
    /// Items and accounts.
    pub(super) kept: K,
    /// Users whose rows are ignored for ever, sorted.
    pub(super) forgotten: Vec<Digest>,
}

/// What a kind of series keeps of items and users.
pub(super) trait Kept: Default + Sized {
    /// The first bytes of a state, with the version of the form.
    const START: &[u8; 16];
    /// Its plans.
    type Plan: Planned;

    /// Append it. Its memory is given back on the way.
    fn push(self, out: &mut Vec<u8>);

    /// Read what [`Self::push`] wrote after some releases.
    ///
    /// # Errors
    /// [`Error::Data`](dpsel_exact::Error::Data) if it is none.
    fn read(read: &mut WireReader<'_>, release: u32, plan: &Self::Plan) -> Result<Self>;

    /// Delete the accounts of users, which are sorted.
    fn forget(&mut self, users: &[Digest]);
}

/// A plan of a series.
pub(super) trait Planned {
    /// The most releases.
    fn releases(&self) -> u32;

    /// The plan as text.
    ///
    /// # Errors
    /// [`Error::Internal`](dpsel_exact::Error::Internal) never in practice: every field serialises.
    fn text(&self) -> Result<String>;
}

impl<K: Kept> State<K> {
    /// The state as bytes.
    pub(super) fn into_bytes(self, plan: &K::Plan, secret: &ReleaseKey) -> Result<Zeroizing<Vec<u8>>> {
        let Self { release, columns, types, kept, forgotten } = self;
        let mut out = Zeroizing::new(Vec::new());
        out.extend(K::START);
        out.extend(fingerprint(plan)?);
        push_integer(release, &mut out);
        push_bytes(columns.as_bytes(), &mut out);
        push_bytes(types.as_bytes(), &mut out);
        kept.push(&mut out);
        push_list(forgotten, &mut out, push_digest);
        let tag = secret.hash(Purpose::State, &out);
        out.extend(tag);
        Ok(out)
    }

    /// The state that [`Self::into_bytes`] wrote with this plan and this secret.
    ///
    /// # Errors
    /// [`Error::Data`](dpsel_exact::Error::Data) if it is none.
    pub(super) fn from_bytes(bytes: &[u8], plan: &K::Plan, secret: &ReleaseKey) -> Result<Self> {
        let (content, tag) = bytes.split_last_chunk::<TAG>().ok_or_else(damaged)?;
        if secret.hash(Purpose::State, content) != *tag {
            return Err(damaged());
        }
        Self::parse(content, plan)
    }

    /// The state of bytes without their digest.
    pub(super) fn parse(content: &[u8], plan: &K::Plan) -> Result<Self> {
        let mut read = WireReader(content);
        if read.array()? != *K::START || read.array()? != fingerprint(plan)? {
            return Err(damaged());
        }
        let release = read.integer(plan.releases())?;
        let (columns, types) = (read.text()?, read.text()?);
        let kept = K::read(&mut read, release, plan)?;
        let forgotten = read.list(16, WireReader::digest)?;
        if !is_rising(&forgotten) || !read.0.is_empty() {
            return Err(damaged());
        }
        Ok(Self { release, columns, types, kept, forgotten })
    }

    /// Users give nothing any more, also if they come later.
    pub(super) fn forget(&mut self, users: &[Digest]) {
        self.forgotten.extend(users);
        self.forgotten.sort_unstable();
        self.forgotten.dedup();
        self.kept.forget(&self.forgotten);
    }
}

/// What tells plans apart.
fn fingerprint(plan: &impl Planned) -> Result<[u8; 32]> {
    Ok(*blake3::hash(plan.text()?.as_bytes()).as_bytes())
}
