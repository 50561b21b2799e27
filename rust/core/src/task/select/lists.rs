//! The public lists of a selection: items that are left out, and items that come out in any case.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::{self, Contributions, ItemCode, Vocabulary};
use dpsel_rows::ingest::{ColumnLayout, ListedTypes, PublicList, sorted};
use dpsel_rows::runtime::Control;

use super::request::SelectRequest;
use crate::counting::CountedItem;
use crate::release::{PublicItems, with_public};

const UNFIT: Error = Error::Internal("a public list does not fit the request");
/// The names of the lists in errors.
const EXCLUDE: &str = "exclude=";
const PUBLIC: &str = "public_items=";

impl SelectRequest {
    /// Refuse public lists, also of preferences, whose items cannot be items of the data.
    ///
    /// # Errors
    /// [`Error::Schema`] naming the list.
    pub(crate) fn check_lists(&self, data: &ColumnLayout) -> Result<()> {
        let lists = [(&self.excluded, EXCLUDE), (&self.public, PUBLIC)];
        for (list, name) in lists.into_iter().filter_map(|(list, name)| Some((list.as_ref()?, name))) {
            list.in_types_of(data, &self.columns, name)?;
        }
        self.prior.as_ref().map_or(Ok(()), |prior| prior.check(&self.columns, data))
    }
}

/// The public lists of a selection, in the types of its data.
#[derive(Debug, Default)]
pub struct PublicLists {
    /// The items of both lists.
    removed: HashSet<Digest>,
    /// Those that never come out. In a tree no node below one of them does.
    excluded: HashSet<Digest>,
    /// Those that come out in any case, and the types in which they were given.
    public: Option<(Contributions, ListedTypes)>,
}

impl PublicLists {
    /// Read the lists in the types of the data, before any row of it is read.
    ///
    /// # Errors
    /// [`Error::Schema`] if items of a list cannot be items of the data; [`Error::Incompatible`] for an item in both
    /// lists.
    pub fn read(data: &ColumnLayout, request: &SelectRequest, key: &ReleaseKey) -> Result<Self> {
        let list = |list: &Option<Arc<PublicList>>, is_stamped: bool| {
            if list.is_some() == is_stamped { Ok(list.clone()) } else { Err(UNFIT) }
        };
        let columns = &request.columns;
        let excluded = list(&request.excluded, request.exclude.is_some())?;
        let excluded = excluded.map(|list| list.own_items(data, columns, (EXCLUDE, key))).transpose()?;
        // Otherwise: nothing is excluded.
        let excluded = excluded.unwrap_or_default();
        let public = list(&request.public, request.public_items.is_some())?.map(|list| {
            let (source, types) = list.in_types_of(data, columns, PUBLIC)?;
            // A list is short, and no part of the progress.
            let control = Control::new(None, None);
            Ok::<_, Error>((contributions::read(source, &columns.of_list(), None, key, &control)?, types))
        });
        let public = public.transpose()?;
        let of_public: HashSet<Digest> = public
            .iter()
            .flat_map(|(list, _)| held(list).map(|item| list.vocabulary.digests().get(item)))
            .collect();
        if !excluded.is_disjoint(&of_public) {
            return Err(Error::Incompatible {
                what: "exclude= and public_items= have an item in common".into(),
                fix: "leave it out of one of the two",
            });
        }
        let removed = excluded.union(&of_public).copied().collect();
        Ok(Self { removed, excluded, public })
    }

    /// Take the rows of the items of both lists out of the data, as if they had never been there.
    pub fn remove_from(&self, contributions: &mut Contributions) {
        if !self.removed.is_empty() {
            let is_excluded = |item| self.excluded.contains(&item);
            contributions.remove(is_excluded, |item| self.removed.contains(&item) && !is_excluded(item));
        }
    }

    /// Take the rows of items that never come out of the data, in a tree with those of nodes below: before anything is
    /// counted.
    pub fn remove_excluded_from(&self, contributions: &mut Contributions) {
        if !self.excluded.is_empty() {
            contributions.remove(|item| self.excluded.contains(&item), |_| false);
        }
    }

    /// The released items and the public ones. `numbers` are those of the public items, if they are
    /// counted, in the order of [`PublicLists::counted`].
    ///
    /// # Errors
    /// [`Error::Internal`] if public items cannot be decoded; as [`with_public`].
    pub(crate) fn beside(
        &self,
        released: RecordBatch,
        numbers: Option<&[i64]>,
        key: &ReleaseKey,
    ) -> Result<RecordBatch> {
        match self.public(numbers, key)? {
            Some(public) => with_public(&released, &public),
            None => Ok(released),
        }
    }

    /// Whether an item is one that the selection does not see.
    #[must_use]
    pub fn have(&self, item: Digest) -> bool {
        self.removed.contains(&item)
    }

    /// Whether there are items that the selection does not see.
    #[must_use]
    pub fn remove_items(&self) -> bool {
        !self.removed.is_empty()
    }

    /// The items that the selection does not see, in no particular order.
    pub fn removed(&self) -> impl Iterator<Item = Digest> + '_ {
        self.removed.iter().copied()
    }

    /// The items that come out in any case, in the order of [`PublicLists::counted`].
    #[must_use]
    pub fn public_digests(&self) -> Vec<Digest> {
        let Some((list, _)) = &self.public else { return Vec::new() };
        let digests = list.vocabulary.digests();
        held(list).map(|item| digests.get(item)).collect()
    }

    /// The items that come out in any case, as they are counted in contributions that still have them.
    pub(in crate::task) fn counted(&self, contributions: &Contributions) -> Vec<CountedItem> {
        let listed = self.public_digests();
        let public: HashSet<Digest> = listed.iter().copied().collect();
        let vocabulary = &contributions.vocabulary;
        let named = (0_u32..).zip(vocabulary.digests_from(0..vocabulary.code_bound()));
        let codes: HashMap<Digest, ItemCode> = named
            .filter(|(_, item)| public.contains(item))
            .map(|(code, item)| (item, ItemCode(code)))
            .collect();
        let counted = |digest| CountedItem { digest, code: codes.get(&digest).copied() };
        listed.into_iter().map(counted).collect()
    }

    /// The items that come out in any case, sorted by their own values. `numbers` are in the order of
    /// [`PublicLists::counted`].
    ///
    /// # Errors
    /// [`Error::Internal`] if they cannot be decoded.
    fn public(&self, numbers: Option<&[i64]>, key: &ReleaseKey) -> Result<Option<PublicItems>> {
        let Some((list, types)) = &self.public else { return Ok(None) };
        let vocabulary: &Vocabulary = &list.vocabulary;
        let keys: Vec<_> = held(list).map(|item| vocabulary.key(item)).collect();
        let (items, order) = sorted(&vocabulary.schema().decode(keys.into_iter(), key)?)?;
        let numbers = numbers.map(|numbers| order.iter().map(|at| numbers[*at as usize]).collect());
        Ok(Some(PublicItems { given: types.restore(items.clone())?, items, numbers }))
    }
}

/// The items of a list, each once.
fn held(list: &Contributions) -> impl Iterator<Item = ItemCode> + '_ {
    let mut seen = HashSet::new();
    let items = list.items_by_user().flatten();
    items.filter(move |item| seen.insert(**item)).map(|item| ItemCode(*item))
}
