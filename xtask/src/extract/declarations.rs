//! Edits a TypeScript declaration file.
//!
//! The schema generator cannot read the vendors' files without changes. Each edit works on whole lines, as the vendors'
//! bundlers print them. An edit that finds nothing to change adds a note, because then the vendor has changed the file.

/// Name of the interface that refers to the root types. No vendor uses this name.
pub(crate) const ROOTS_INTERFACE: &str = "WireRoots";

/// A declaration file that is being edited.
pub(crate) struct Declarations {
    text: String,
    notes: Vec<String>,
}

impl Declarations {
    /// Creates it from the text of the vendor.
    pub(crate) fn new(text: String) -> Self {
        Self { text, notes: Vec::new() }
    }

    /// Returns the edited text and the notes about edits that found nothing.
    pub(crate) fn finish(self) -> (String, Vec<String>) {
        (self.text, self.notes)
    }

    /// Removes a namespace prefix everywhere, because the generator does not read `declare namespace`.
    pub(crate) fn remove_prefix(&mut self, prefix: &str) {
        if !self.text.contains(prefix) {
            self.notes.push(format!("the declarations no longer use the prefix {prefix}"));
        }
        self.text = self.text.replace(prefix, "");
    }

    /// Exports every declared type, so that the schema keeps the name that the vendor chose.
    pub(crate) fn export_types(&mut self) {
        self.edit_lines(|line| {
            let is_private = line.starts_with("declare type ") || line.starts_with("declare interface ");
            is_private.then(|| format!("export {line}"))
        });
    }

    /// Replaces the import of `name` by a declaration, because the generator fails on the original or it is not
    /// installed.
    pub(crate) fn replace_import(&mut self, name: &str, definition: &str) {
        self.edit_import(name, &format!("type {name} = {definition};"));
    }

    /// Imports `name` from another module that declares the same type.
    pub(crate) fn redirect_import(&mut self, name: &str, module: &str) {
        self.edit_import(name, &format!("import type {{ {name} }} from '{module}';"));
    }

    fn edit_import(&mut self, name: &str, replacement: &str) {
        let braced = format!("{{ {name} }} from ");
        let edited = self
            .edit_lines(|line| (line.starts_with("import ") && line.contains(&braced)).then(|| replacement.to_owned()));
        if !edited {
            self.notes.push(format!("the declarations no longer import {name} on a separate line"));
        }
    }

    /// Replaces the definition of the object type `name`, because the generator cannot read its mapped keys.
    pub(crate) fn replace_type(&mut self, name: &str, definition: &str) {
        let head = format!("export declare type {name} = ");
        let Some(start) = self.text.find(&head) else {
            self.notes.push(format!("the declarations no longer declare {name}"));
            return;
        };
        let end = self.text[start..].find("\n};\n").map_or(self.text.len(), |length| start + length + "\n};\n".len());
        self.text.replace_range(start..end, &format!("{head}{definition};\n"));
    }

    /// Declares the type `name`, unless the vendor declares it.
    pub(crate) fn declare(&mut self, name: &str, definition: &str) {
        if !self.text.contains(&format!("declare type {name} = ")) {
            let declaration = format!("\nexport declare type {name} = {definition};\n");
            self.text.push_str(&declaration);
        }
    }

    /// The exported types whose names have this prefix and suffix, in the order of the file.
    pub(crate) fn types_named(&self, prefix: &str, suffix: &str) -> Vec<String> {
        self.text
            .lines()
            .filter_map(|line| line.strip_prefix("export declare type ")?.split([' ', '<', '=']).next())
            .filter(|name| name.starts_with(prefix) && name.ends_with(suffix))
            .map(str::to_owned)
            .collect()
    }

    /// Adds the interface [`ROOTS_INTERFACE`], which refers to each of the types, because the generator accepts only
    /// one root.
    pub(crate) fn add_roots<S: AsRef<str>>(&mut self, types: &[S]) {
        let fields: Vec<_> =
            types.iter().enumerate().map(|(number, name)| format!("    root{number}: {};\n", name.as_ref())).collect();
        let interface = format!("\nexport interface {ROOTS_INTERFACE} {{\n{}}}\n", fields.concat());
        self.text.push_str(&interface);
    }

    /// Names of the packages that the file imports from.
    pub(crate) fn imported_packages(&self) -> Vec<&str> {
        let module_range = |line: &'_ str| -> Option<(usize, usize)> {
            let start = line.rfind(" from ")? + " from ".len() + 1;
            let end = line.rfind(['\'', '"']).filter(|end| *end > start)?;
            Some((start, end))
        };
        self.text
            .lines()
            .filter(|line| line.starts_with("import "))
            .filter_map(|line| module_range(line).map(|(start, end)| &line[start..end]))
            .filter(|module| !module.starts_with('.'))
            .map(|module| {
                let scoped = usize::from(module.starts_with('@'));
                module.match_indices('/').nth(scoped).map_or(module, |(end, _)| &module[..end])
            })
            .collect()
    }

    /// Replaces the lines for which `edit` returns a replacement. Returns whether there was one.
    fn edit_lines(&mut self, edit: impl Fn(&str) -> Option<String>) -> bool {
        let mut is_edited = false;
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            let replacement = edit(line);
            is_edited |= replacement.is_some();
            text.push_str(replacement.as_deref().unwrap_or(line));
            text.push('\n');
        }
        self.text = text;
        is_edited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VENDOR: &str = "\
import type { UUID } from 'crypto';
import { z } from \"zod/v4\";
import type { A } from '@scope/pkg/deep/types.js';
import type { B } from './near';

declare type Private = { id: core.UUID };

export declare type Usage = {
    [K in keyof A]: NonNullable<A[K]>;
};

export declare type SDKControlInitializeResponse = {
    a: Usage;
};
";

    #[test]
    fn edits_change_the_text_as_documented() {
        let mut file = Declarations::new(VENDOR.to_owned());
        file.remove_prefix("core.");
        file.export_types();
        file.replace_import("UUID", "string");
        file.redirect_import("A", "@scope/pkg/other.js");
        file.replace_type("Usage", "A");
        file.declare("Private", "never");
        file.declare("Mine", "Private | A");
        assert_eq!(file.types_named("SDKControl", "Response"), ["SDKControlInitializeResponse"]);
        file.add_roots(&["Private", "Mine"]);
        let (text, notes) = file.finish();
        assert_eq!(notes, [""; 0]);
        assert_eq!(
            text,
            "\
type UUID = string;
import { z } from \"zod/v4\";
import type { A } from '@scope/pkg/other.js';
import type { B } from './near';

export declare type Private = { id: UUID };

export declare type Usage = A;

export declare type SDKControlInitializeResponse = {
    a: Usage;
};

export declare type Mine = Private | A;

export interface WireRoots {
    root0: Private;
    root1: Mine;
}
"
        );
    }

    #[test]
    fn an_edit_that_finds_nothing_adds_a_note() {
        let mut file = Declarations::new(VENDOR.to_owned());
        file.remove_prefix("elsewhere.");
        file.replace_import("JSONRPCMessage", "unknown");
        file.replace_type("Gone", "A");
        assert_eq!(file.finish().1.len(), 3);
    }

    #[test]
    fn imported_packages_are_named_without_their_paths() {
        let file = Declarations::new(VENDOR.to_owned());
        assert_eq!(file.imported_packages(), ["crypto", "zod", "@scope/pkg"]);
    }
}
