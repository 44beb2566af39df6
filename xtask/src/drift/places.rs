//! The places in the source that a change of the schema affects.

use std::collections::BTreeSet;

use heck::ToSnakeCase as _;

use super::Schemas;
use super::compare::Change;
use super::rust_types::{RustType, RustTypes, Target};
use super::source_index::{Place, SourceIndex};
use crate::repository::Repository;

/// Maximum number of places per change.
const MAX_PLACES: usize = 3;
/// How many types around a changed one are searched for a place.
const MAX_LEVELS: usize = 6;

/// The generated types of the new and the old schema, and the source that uses them.
pub(crate) struct Places {
    /// The types of the new schema, and of the old one, which has the names of what was removed. A schema that the code
    /// generator rejects has none.
    types: Vec<RustTypes>,
    /// Why the code generator rejects the new schema.
    pub(crate) rejected: Option<String>,
    converter: SourceIndex,
    driver: SourceIndex,
}

/// A match without arms for some variants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IncompleteMatch {
    pub(crate) union: String,
    pub(crate) place: String,
    pub(crate) missing_tags: Vec<String>,
    pub(crate) variants: usize,
}

impl Places {
    /// Reads the source of an agent, and generates the types of both schemas.
    pub(crate) fn read(repository: &Repository, old: &Schemas, new: &Schemas) -> Self {
        let folder = repository.agent_schemas(&new.agent);
        let build = |schemas: &Schemas| RustTypes::build(&new.agent, &folder, &schemas.texts);
        let new_types = build(new);
        let rejected = new_types.as_ref().err().cloned();
        Self {
            types: [new_types, build(old)].into_iter().filter_map(Result::ok).collect(),
            rejected,
            converter: SourceIndex::of_converter(repository, &new.agent),
            driver: SourceIndex::of_driver(repository, &new.agent),
        }
    }

    /// Whether the agent has a converter.
    pub(crate) fn has_converter(&self) -> bool {
        !self.converter.is_empty()
    }

    /// Where the converter uses what has changed.
    pub(crate) fn in_converter(&self, change: &Change) -> Vec<String> {
        self.find(&self.converter, change)
    }

    /// Where the protocol or driver uses what has changed.
    pub(crate) fn in_driver(&self, change: &Change) -> Vec<String> {
        self.find(&self.driver, change)
    }

    fn find(&self, index: &SourceIndex, change: &Change) -> Vec<String> {
        let resolve = |types: &RustTypes| types.resolve(&change.type_name, &change.path, change.tag.as_deref());
        let mut targets: Vec<_> = self.types.iter().filter_map(|types| Some((types, resolve(types)?))).collect();
        // Types that have all of the path come first.
        targets.sort_by_key(|(_, (_, is_complete))| !is_complete);
        let places = targets.into_iter().map(|(types, (target, _))| Search { types, index }.find(target));
        let places = places.into_iter().find(|places| !places.is_empty()).unwrap_or_default();
        places.into_iter().take(MAX_PLACES).map(|place| index.describe(place)).collect()
    }

    /// The matches of the converter that have no arm for a variant of the new schema.
    pub(crate) fn incomplete_matches(&self) -> Vec<IncompleteMatch> {
        let Some(types) = self.types.first().filter(|_| self.rejected.is_none()) else { return Vec::new() };
        let mut found = Vec::new();
        for union in types.unions() {
            let variants = types.variants(&union);
            for (place, arms) in self.converter.exhaustive_matches(&types.path(&union)) {
                let missing = variants.iter().filter(|variant| !arms.contains(&variant.name.as_str()));
                let missing_tags: Vec<_> = missing.map(|variant| variant.tag.clone()).collect();
                if !missing_tags.is_empty() {
                    let (union, place) = (union.name.clone(), self.converter.describe(place));
                    found.push(IncompleteMatch { union, place, missing_tags, variants: variants.len() });
                }
            }
        }
        found
    }
}

struct Search<'a> {
    types: &'a RustTypes,
    index: &'a SourceIndex,
}

impl Search<'_> {
    /// The places of a target. If the source does not name it, those of the nearest types that contain it.
    fn find(&self, target: Target) -> BTreeSet<Place> {
        let field = match &target {
            Target::Field(_, key) => Some(key.to_snake_case()),
            Target::Type(_) | Target::Variant(..) => None,
        };
        let mut seen = BTreeSet::from([target.container().clone()]);
        let mut level = vec![target];
        for _ in 0..MAX_LEVELS {
            // A field may be accessed through the field that contains its struct.
            let accesses = field
                .iter()
                .flat_map(|field| level.iter().flat_map(|target| self.field_uses(target.container(), field)));
            let accesses: BTreeSet<Place> = accesses.collect();
            if !accesses.is_empty() {
                return accesses;
            }
            let places: BTreeSet<Place> = level.iter().flat_map(|target| self.places(target)).collect();
            if !places.is_empty() {
                return places;
            }
            let containers = level.iter().map(|target| target.container().clone()).collect::<BTreeSet<_>>();
            let users = containers.iter().flat_map(|container| self.types.users(container));
            level = users.filter(|user| seen.insert(user.container().clone())).collect();
        }
        BTreeSet::new()
    }

    /// The places that name exactly this target.
    fn places(&self, target: &Target) -> BTreeSet<Place> {
        match target {
            Target::Variant(union, variant, _) => {
                let arms = self.index.arms(&self.types.path(union), variant);
                if arms.is_empty() { self.matches(union) } else { arms }
            }
            Target::Field(ty, key) => {
                let accesses = self.field_uses(ty, &key.to_snake_case());
                if accesses.is_empty() { self.index.uses(&self.types.path(ty)) } else { accesses }
            }
            Target::Type(ty) => {
                let mut all = vec![ty.clone()];
                all.extend(self.types.kinds(ty));
                let arms: BTreeSet<Place> = all.iter().flat_map(|ty| self.arms(ty)).collect();
                if arms.is_empty() { self.index.uses(&self.types.path(ty)) } else { arms }
            }
        }
    }

    /// The first arm of a union or enum.
    fn arms(&self, union: &RustType) -> BTreeSet<Place> {
        let path = self.types.path(union);
        let variants = self.types.variants(union);
        let arms: BTreeSet<Place> = variants.iter().flat_map(|variant| self.index.arms(&path, &variant.name)).collect();
        arms.into_iter().take(1).collect()
    }

    /// The matches on a union.
    fn matches(&self, union: &RustType) -> BTreeSet<Place> {
        self.index.exhaustive_matches(&self.types.path(union)).into_iter().map(|(place, _)| place).collect()
    }

    /// The accesses to a field of a struct, in functions that name the struct or a variant that contains it.
    fn field_uses(&self, ty: &RustType, field: &str) -> BTreeSet<Place> {
        let mut names = vec![self.types.path(ty)];
        for user in self.types.users(ty) {
            if let Target::Variant(union, variant, _) = user {
                let mut path = self.types.path(&union);
                path.push(variant);
                names.push(path);
            }
        }
        self.index.field_uses(&names, field)
    }
}
