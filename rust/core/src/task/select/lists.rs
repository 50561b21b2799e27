//! The public lists of a selection: items that are left out, and items that come out in any case.

use std::collections::{HashMap, HashSet};

use super::request::SelectRequest;
use crate::contributions::{self, Contributions, ItemCode, Vocabulary};
use crate::counting::Counted;
use crate::ingest::{Columns, PublicList, Source, sorted};
use crate::random::{Digest, ReleaseKey};
use crate::release::PublicItems;
use crate::runtime::Control;
use crate::{Error, Result};

/// The public lists of a selection, in the types of its data.
#[derive(Debug, Default)]
pub(super) struct PublicLists {
    excluded: Option<Contributions>,
    public: Option<Contributions>,
}

impl PublicLists {
    /// Read the rows of the data, and the lists.
    ///
    /// # Errors
    /// As [`contributions::read_beside`].
    pub(super) fn read(
        source: Source,
        request: &SelectRequest,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<(Contributions, Self)> {
        let given = [
            (request.excluded.as_deref(), request.exclude.is_some(), "exclude="),
            (request.public.as_deref(), request.public_items.is_some(), "public_items="),
        ];
        if given.iter().any(|(list, stamped, _)| list.is_some() != *stamped) {
            return Err(Error::Internal("a public list does not fit the request"));
        }
        let named: Vec<(&PublicList, &str)> =
            given.iter().filter_map(|(list, _, name)| Some(((*list)?, *name))).collect();
        let order = request.item_order()?;
        let (rows, sources) =
            contributions::read_beside(source, &named, &request.columns, order, key, control)?;
        let columns = Columns { ngrams: None, ..request.columns.clone() };
        let mut lists = Self::default();
        for (source, (_, name)) in sources.into_iter().zip(named) {
            // A list is short, and no part of the progress.
            let quiet = Control::new(None, None);
            let list = contributions::read(source, &columns, None, key, &quiet)?;
            if name == "exclude=" { lists.excluded = Some(list) } else { lists.public = Some(list) }
        }
        Ok((rows, lists))
    }

    /// Take the rows of the items of both lists out of the data, as if they had never been there.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for an item in both lists.
    pub(super) fn remove_from(&self, contributions: &mut Contributions) -> Result<()> {
        let digests = |list: &Option<Contributions>| -> HashSet<Digest> {
            let found =
                list.iter().flat_map(|list| held(list).map(|item| list.vocabulary.digests().get(item)));
            found.collect()
        };
        let (excluded, public) = (digests(&self.excluded), digests(&self.public));
        if !excluded.is_disjoint(&public) {
            return Err(Error::Incompatible {
                what: "exclude= and public_items= have an item in common".into(),
                fix: "leave it out of one of the two",
            });
        }
        if !excluded.is_empty() || !public.is_empty() {
            contributions.retain(|item| !excluded.contains(&item) && !public.contains(&item));
        }
        Ok(())
    }

    /// The items that come out in any case, as their users are counted in contributions that still have them.
    pub(super) fn counted(&self, contributions: &Contributions) -> Vec<Counted> {
        let Some(list) = &self.public else { return Vec::new() };
        let digests = list.vocabulary.digests();
        let public: HashSet<Digest> = held(list).map(|item| digests.get(item)).collect();
        let vocabulary = &contributions.vocabulary;
        let named = (0_u32..).zip(vocabulary.digests_from(0..vocabulary.code_bound()));
        let codes: HashMap<Digest, ItemCode> = named
            .filter(|(_, item)| public.contains(item))
            .map(|(code, item)| (item, ItemCode(code)))
            .collect();
        let counted = |digest| Counted { digest, code: codes.get(&digest).copied() };
        held(list).map(|item| counted(digests.get(item))).collect()
    }

    /// The items that come out in any case, sorted by their own values. `users` are in the order of
    /// [`PublicLists::counted`].
    ///
    /// # Errors
    /// [`Error::Internal`] if they cannot be decoded.
    pub(super) fn public(&self, users: Option<&[i64]>, key: &ReleaseKey) -> Result<Option<PublicItems>> {
        let Some(list) = &self.public else { return Ok(None) };
        let vocabulary: &Vocabulary = &list.vocabulary;
        let keys: Vec<_> = held(list).map(|item| vocabulary.key(item)).collect();
        let (items, order) = sorted(&vocabulary.schema().decode(keys.into_iter(), key)?)?;
        let users = users.map(|users| order.iter().map(|at| users[*at as usize]).collect());
        Ok(Some(PublicItems { items, users }))
    }
}

/// The items of a list, each once.
fn held(list: &Contributions) -> impl Iterator<Item = ItemCode> + '_ {
    let mut seen = HashSet::new();
    let rows = list.starts.iter().zip(&list.lens);
    rows.flat_map(|(start, len)| &list.items.as_slice()[*start..][..*len as usize])
        .filter(move |item| seen.insert(**item))
        .map(|item| ItemCode(*item))
}
