//! Where converters and drivers use the generated types, from the syntax trees of their source.
//!
//! Names are resolved through imports, so that types of the same name in different modules are told apart. Types are not
//! inferred: the accesses to a field are those in a function or match arm that names the struct, in the signature or
//! pattern. Test modules are left out.

mod paths;
mod visitor;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::paths::Paths;
use crate::repository::Repository;

/// Crates that are searched, with the folders in which an agent has its files.
const CONVERTER: [(&str, &str, &str); 1] = [("interlingua_convert", "crates/convert/src", "")];
const DRIVER: [(&str, &str, &str); 2] =
    [("interlingua_protocol", "crates/protocol/src", ""), ("interlingua_runtime", "crates/runtime/src", "drivers")];

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    file: usize,
    line: usize,
}

/// How a path is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UseKind {
    /// In a pattern, such as a match arm.
    Pattern,
    /// In an expression, such as a constructor.
    Expression,
    /// As a type, such as that of a parameter.
    Type,
}

/// The use of a path.
#[derive(Debug)]
struct PathUse {
    kind: UseKind,
    path: Vec<String>,
    place: Place,
    /// The innermost function or match arm.
    scope: Option<usize>,
}

/// An access to a field, by the name of the field.
#[derive(Debug)]
struct FieldUse {
    name: String,
    place: Place,
    /// The struct, if the access names it: in a constructor or pattern.
    owner: Option<Vec<String>>,
    /// The functions and match arms around the access.
    scopes: Vec<usize>,
}

/// A `match` without an arm for any other value.
#[derive(Debug)]
struct ExhaustiveMatch {
    place: Place,
    arms: Vec<Vec<String>>,
}

/// The uses in the files of one agent.
#[derive(Debug, Default)]
pub(crate) struct SourceIndex {
    /// Paths in the repository.
    files: Vec<String>,
    paths: Vec<PathUse>,
    fields: Vec<FieldUse>,
    matches: Vec<ExhaustiveMatch>,
    /// Number of functions and match arms.
    scopes: usize,
}

impl SourceIndex {
    /// Reads the converter of an agent.
    pub(crate) fn of_converter(repository: &Repository, agent: &str) -> Self {
        Self::read(repository, &CONVERTER, agent)
    }

    /// Reads the protocol and the driver of an agent.
    pub(crate) fn of_driver(repository: &Repository, agent: &str) -> Self {
        Self::read(repository, &DRIVER, agent)
    }

    /// Reads the Rust files of an agent in folders of crates: `<agent>.rs` and everything below `<agent>/`. A file that is
    /// not valid Rust is left out.
    fn read(repository: &Repository, folders: &[(&str, &str, &str)], agent: &str) -> Self {
        let mut index = Self::default();
        let mut paths = Paths::default();
        for (crate_name, source, folder) in folders {
            let source = repository.root().join(source);
            let mut files = vec![source.join(folder).join(format!("{agent}.rs"))];
            collect_rust_files(&source.join(folder).join(agent), &mut files);
            files.sort();
            for file in files {
                let Some(syntax) = std::fs::read_to_string(&file).ok().and_then(|text| syn::parse_file(&text).ok())
                else {
                    continue;
                };
                let module = module_path(crate_name, &source, &file);
                index.files.push(repository.relative(&file));
                visitor::visit(&syntax, module, index.files.len() - 1, &mut index, &mut paths);
            }
        }
        index.resolve(&paths);
        index
    }

    /// Replaces all paths by absolute ones.
    fn resolve(&mut self, paths: &Paths) {
        let all = self.paths.iter_mut().map(|found| &mut found.path);
        let owners = self.fields.iter_mut().filter_map(|found| found.owner.as_mut());
        for path in all.chain(owners).chain(self.matches.iter_mut().flat_map(|found| &mut found.arms)) {
            *path = paths.resolve(path);
        }
    }

    /// Whether the agent has no source files.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// `file:line` of a place.
    pub(crate) fn describe(&self, place: Place) -> String {
        format!("{}:{}", self.files[place.file], place.line)
    }

    /// The patterns with a variant of a union.
    pub(crate) fn arms(&self, union: &[String], variant: &str) -> BTreeSet<Place> {
        let is_arm = |found: &&PathUse| {
            found.kind == UseKind::Pattern
                && found.path.split_last().is_some_and(|(last, rest)| rest == union && last == variant)
        };
        self.paths.iter().filter(is_arm).map(|found| found.place).collect()
    }

    /// The places that use a type: patterns if there are any, or else expressions, or else signatures.
    pub(crate) fn uses(&self, ty: &[String]) -> BTreeSet<Place> {
        let is_use = |found: &&PathUse| found.path.starts_with(ty) && found.path.len() <= ty.len() + 1;
        let best = self.paths.iter().filter(is_use).map(|found| found.kind).min();
        let uses = self.paths.iter().filter(is_use).filter(|found| Some(found.kind) == best);
        uses.map(|found| found.place).collect()
    }

    /// The accesses to a field of a struct, which has one of these paths, or is the content of the variants with them.
    pub(crate) fn field_uses(&self, paths: &[Vec<String>], field: &str) -> BTreeSet<Place> {
        let named = self.paths.iter().filter(|found| paths.contains(&found.path));
        let scopes: BTreeSet<usize> = named.filter_map(|found| found.scope).collect();
        let is_access = |found: &&FieldUse| {
            found.name == field
                && match &found.owner {
                    Some(owner) => paths.contains(owner),
                    None => found.scopes.iter().any(|scope| scopes.contains(scope)),
                }
        };
        self.fields.iter().filter(is_access).map(|found| found.place).collect()
    }

    /// The matches that must have an arm for every variant of a union, with the variants that have one.
    pub(crate) fn exhaustive_matches(&self, union: &[String]) -> Vec<(Place, Vec<&str>)> {
        let is_variant = |arm: &Vec<String>| arm.split_last().is_some_and(|(_, rest)| rest == union);
        let of_union = self.matches.iter().filter(|found| !found.arms.is_empty() && found.arms.iter().all(is_variant));
        of_union.map(|found| (found.place, found.variants().collect())).collect()
    }
}

impl ExhaustiveMatch {
    fn variants(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().filter_map(|arm| arm.last().map(String::as_str))
    }
}

/// The path of the module that a file contains.
fn module_path(crate_name: &str, source: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source).unwrap_or(file).with_extension("");
    let parts = relative.iter().map(|part| part.to_string_lossy().into_owned());
    std::iter::once(crate_name.to_owned()).chain(parts).collect()
}

/// Adds the Rust files below a folder, without those of tests.
fn collect_rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            collect_rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests;
