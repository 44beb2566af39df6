//! Resolves the names in source files through imports.

use std::collections::BTreeMap;

/// Longest chain of imports that is followed.
const MAX_IMPORTS: usize = 8;

/// The names in each module.
#[derive(Debug, Default)]
pub(super) struct Paths {
    modules: BTreeMap<Vec<String>, Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// What an imported name or the alias of a type stands for.
    targets: BTreeMap<String, Vec<String>>,
    /// Modules whose names are all imported.
    globs: Vec<Vec<String>>,
}

impl Paths {
    /// Adds the imports of a `use` declaration.
    pub(super) fn add_use(&mut self, module: &[String], tree: &syn::UseTree) {
        self.add_tree(module, &mut Vec::new(), tree);
    }

    fn add_tree(&mut self, module: &[String], prefix: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_tree(module, prefix, &path.tree);
                prefix.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = prefix.last() {
                    self.add_name(module, last.clone(), prefix);
                }
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add_name(module, name.clone(), &[prefix.as_slice(), &[name]].concat());
            }
            syn::UseTree::Rename(rename) => {
                let target = match rename.ident.to_string() {
                    own if own == "self" => prefix.clone(),
                    name => [prefix.as_slice(), &[name]].concat(),
                };
                self.add_name(module, rename.rename.to_string(), &target);
            }
            syn::UseTree::Glob(_) => {
                let target = absolute(module, prefix);
                self.modules.entry(module.to_vec()).or_default().globs.push(target);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(module, prefix, tree);
                }
            }
        }
    }

    /// Adds a name that stands for a path.
    pub(super) fn add_name(&mut self, module: &[String], name: String, target: &[String]) {
        let target = absolute(module, target);
        self.modules.entry(module.to_vec()).or_default().targets.insert(name, target);
    }

    /// Resolves an absolute path: replaces names that a module imports by what they stand for.
    pub(super) fn resolve(&self, path: &[String]) -> Vec<String> {
        let mut path = path.to_vec();
        for _ in 0..MAX_IMPORTS {
            let Some(next) = self.follow(&path) else { break };
            path = next;
        }
        path
    }

    /// Replaces the first imported name in a path.
    fn follow(&self, path: &[String]) -> Option<Vec<String>> {
        for end in 1..path.len() {
            let (module, rest) = path.split_at(end);
            let (name, rest) = rest.split_first()?;
            let Some(names) = self.modules.get(module) else { continue };
            if let Some(target) = names.targets.get(name) {
                let next = [target.as_slice(), rest].concat();
                // `use codex;` in the module that declares `codex`.
                return (next != path).then_some(next);
            }
            let is_module = self.modules.contains_key(&path[..=end]);
            if !is_module && let [glob] = names.globs.as_slice() {
                return Some([glob.as_slice(), std::slice::from_ref(name), rest].concat());
            }
        }
        None
    }
}

/// A path as it is written in a module, from the root of its crate.
pub(super) fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => {
            base.truncate(1);
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        Some("super") => {
            while let Some((first, others)) = rest.split_first().filter(|(first, _)| *first == "super") {
                debug_assert_eq!(first, "super");
                base.pop();
                rest = others;
            }
        }
        // The path of another crate.
        Some(first) if first.starts_with("interlingua_") => return rest.to_vec(),
        _ => {}
    }
    base.extend_from_slice(rest);
    base
}
