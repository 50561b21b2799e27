//! The lines of descent of items, found from their keys: of the nodes of a tree when rows are read, and of n-grams when
//! their rounds are known.

use std::collections::HashMap;

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey, ShortBytes};
use dpsel_exact::{Error, Result};

use super::lineage::Lineage;
use super::user_items::Contributions;
use super::vocabulary::Vocabulary;
use crate::ingest::{ItemCode, Levels, NGrams};
use crate::runtime::{Control, parallel};

/// Items whose keys are looked at together: a multiple of [`Vocabulary::STRIDE`].
const TOGETHER: usize = 64 * Vocabulary::STRIDE;

const LOST: Error = Error::Internal("an item has none above it that is held");

/// What tells the keys of the items directly above one, from its key.
#[derive(Debug, Clone, Copy)]
enum Parents<'a> {
    OfNode(&'a Levels),
    OfNGram(NGrams),
}

impl Parents<'_> {
    /// The level of an item, from 1; `None` for bytes that are no key.
    fn level(self, key: &[u8]) -> Option<usize> {
        match self {
            Self::OfNode(levels) => levels.level(key),
            Self::OfNGram(ngrams) => ngrams.units(key),
        }
    }

    fn above(self, key: &[u8]) -> [Option<&[u8]>; 2] {
        match self {
            Self::OfNode(levels) => [levels.above(key), None],
            Self::OfNGram(ngrams) => ngrams.above(key),
        }
    }
}

/// An item while the codes above it are looked for. Zero: there is none.
struct FoundItem {
    code: u32,
    level: u8,
    digest: Digest,
    above: [Digest; 2],
}

impl Contributions {
    /// Find the items above each, where items are the nodes of a tree.
    ///
    /// # Errors
    /// As [`Contributions::find_parts`].
    pub fn find_nodes(&mut self, key: &ReleaseKey, control: &Control) -> Result<()> {
        self.vocabulary.find_lineage(key, control)
    }

    /// Find the items above each, where items are n-grams: those inside it. An item that nobody holds, since its rows were
    /// taken out, stands above none.
    ///
    /// # Errors
    /// The limit of memory; [`Error::Internal`] for keys that are no n-grams.
    pub fn find_parts(&mut self, ngrams: NGrams, key: &ReleaseKey, control: &Control) -> Result<()> {
        let mut lineage = lines_of(&self.vocabulary, Parents::OfNGram(ngrams), key, control)?;
        lineage.removed = self.users_of_items().into_iter().map(|users| users == 0).collect();
        self.vocabulary.keys.lineage = Some(lineage);
        Ok(())
    }
}

impl Vocabulary {
    /// Find the items above each, where items are the nodes of a tree.
    ///
    /// # Errors
    /// The limit of memory; [`Error::Internal`] for keys that are no nodes.
    pub(super) fn find_lineage(&mut self, key: &ReleaseKey, control: &Control) -> Result<()> {
        if let Some(levels) = self.schema().levels() {
            self.keys.lineage = Some(lines_of(self, Parents::OfNode(levels), key, control)?);
        }
        Ok(())
    }
}

/// The lines of all items of a vocabulary.
///
/// # Errors
/// The limit of memory; [`Error::Internal`] for keys that are no nodes.
fn lines_of(
    vocabulary: &Vocabulary,
    parents: Parents<'_>,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Lineage> {
    let bound = vocabulary.code_bound();
    // A column without a type has no values, so its keys are of no kind.
    if bound == 0 {
        return Ok(Lineage::default());
    }
    control.charge_memory((bound * Lineage::BYTES) as u64, "finding the levels of items")?;
    let kind = vocabulary.schema().bytes_kind().ok_or(LOST)?;
    let digester = Digester::new(key, Purpose::ItemDigest);
    let ranges = (0..bound).step_by(TOGETHER).collect();
    let found = parallel::map(parallel::threads_for(bound, control), ranges, |first| {
        let digests = vocabulary.digests_from(first..bound.min(first + TOGETHER));
        items_from(vocabulary, (first, &digests), (parents, kind), &digester)
    });
    let found: Vec<FoundItem> =
        found.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let by_digest: HashMap<Digest, u32> = found.iter().map(|found| (found.digest, found.code)).collect();
    let mut lineage =
        Lineage { above: vec![[Lineage::NONE; 2]; bound], levels: vec![0; bound], ..Lineage::default() };
    for FoundItem { code, level, above, .. } in &found {
        lineage.levels[*code as usize] = *level;
        for (place, above) in above.iter().enumerate().filter(|(_, above)| **above != Digest::default()) {
            let of_above = *by_digest.get(above).ok_or(LOST)?;
            lineage.above[*code as usize][place] = of_above;
            lineage.inner.insert(of_above, *above);
        }
    }
    let left = bound * (size_of::<[u32; 2]>() + 2) + lineage.inner.len() * 32;
    control.release_memory((bound * Lineage::BYTES).saturating_sub(left) as u64);
    Ok(lineage)
}

/// The items of some codes from the first one on, which have these digests.
fn items_from(
    vocabulary: &Vocabulary,
    (first, digests): (usize, &[Digest]),
    (parents, kind): (Parents<'_>, KeyKind),
    digester: &Digester,
) -> Result<Vec<FoundItem>> {
    let short: Vec<_> =
        digester.blocks_of(digests).into_iter().map(|block| block.short_bytes(kind)).collect();
    let (mut found, mut keys, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for ((code, digest), short) in (codes(first)..).zip(digests).zip(&short) {
        if *digest == Digest::default() {
            continue;
        }
        let long = vocabulary.keys().key(ItemCode(code), *digest).long;
        let key = long.or_else(|| short.as_ref().map(ShortBytes::as_slice)).ok_or(LOST)?;
        let level = parents.level(key).and_then(|level| u8::try_from(level).ok()).ok_or(LOST)?;
        for (place, above) in parents.above(key).into_iter().enumerate() {
            keys.extend(above);
            places.extend(above.map(|_| (found.len(), place)));
        }
        found.push(FoundItem { code, level, digest: *digest, above: [Digest::default(); 2] });
    }
    let mut above = Vec::with_capacity(keys.len());
    digester.bytes(kind, keys, &mut DigestBatch::default(), &mut above);
    for ((item, place), above) in places.into_iter().zip(above) {
        found[item].above[place] = above;
    }
    Ok(found)
}
