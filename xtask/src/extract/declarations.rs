//! Small, named edits of a TypeScript declaration file.
//!
//! The generator cannot digest the vendors' files as they are. Each edit works on whole lines as the vendors'
//! bundlers print them; one that finds nothing to edit says so, because then the vendor has changed something.

/// The name of the interface that holds the roots; no vendor uses it.
pub(crate) const ROOTS: &str = "WireRoots";

/// The text of a declaration file under edit.
pub(crate) struct Declarations {
    text: String,
    notes: Vec<String>,
}

impl Declarations {
    /// Starts with the vendor's text.
    pub(crate) fn new(text: String) -> Self {
        Self { text, notes: Vec::new() }
    }

    /// The edited text, and what could not be done to it.
    pub(crate) fn finish(self) -> (String, Vec<String>) {
        (self.text, self.notes)
    }

    /// Removes a namespace prefix from every use: the generator does not look into `declare namespace`.
    pub(crate) fn drop_prefix(&mut self, prefix: &str) {
        if !self.text.contains(prefix) {
            self.notes.push(format!("the prefix {prefix} is no longer used"));
        }
        self.text = self.text.replace(prefix, "");
    }

    /// Exports every declared type, so that each keeps the name the vendor gave it.
    pub(crate) fn export_types(&mut self) {
        self.edit_lines(|line| {
            let private = line.starts_with("declare type ") || line.starts_with("declare interface ");
            private.then(|| format!("export {line}"))
        });
    }

    /// Puts the type `is` where `name` was imported: the generator dies on the original, or it is not installed.
    pub(crate) fn stand_in_for_import(&mut self, name: &str, is: &str) {
        self.edit_import(name, &format!("type {name} = {is};"));
    }

    /// Imports `name` from another module of the same types.
    pub(crate) fn import_from(&mut self, name: &str, module: &str) {
        self.edit_import(name, &format!("import type {{ {name} }} from '{module}';"));
    }

    fn edit_import(&mut self, name: &str, replacement: &str) {
        let braced = format!("{{ {name} }} from ");
        let edited = self
            .edit_lines(|line| (line.starts_with("import ") && line.contains(&braced)).then(|| replacement.to_owned()));
        if !edited {
            self.notes.push(format!("{name} is no longer imported on a line of its own"));
        }
    }

    /// Replaces the object type `name` by the type `is`: the generator cannot read the original's mapped keys.
    pub(crate) fn stand_in_for_type(&mut self, name: &str, is: &str) {
        let head = format!("export declare type {name} = ");
        let Some(start) = self.text.find(&head) else {
            self.notes.push(format!("{name} is no longer declared"));
            return;
        };
        let end = self.text[start..].find("\n};\n").map_or(self.text.len(), |length| start + length + "\n};\n".len());
        self.text.replace_range(start..end, &format!("{head}{is};\n"));
    }

    /// Declares the type `name` unless the vendor does.
    pub(crate) fn declare(&mut self, name: &str, is: &str) {
        if !self.text.contains(&format!("declare type {name} = ")) {
            let declared = format!("\nexport declare type {name} = {is};\n");
            self.text.push_str(&declared);
        }
    }

    /// The declared types whose name starts and ends like this, in the order of the file.
    pub(crate) fn types_named(&self, start: &str, end: &str) -> Vec<String> {
        self.text
            .lines()
            .filter_map(|line| line.strip_prefix("export declare type ")?.split([' ', '<', '=']).next())
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .map(str::to_owned)
            .collect()
    }

    /// Adds the interface [`ROOTS`] that refers to each of the types once: the generator takes one root only.
    pub(crate) fn add_roots<S: AsRef<str>>(&mut self, types: &[S]) {
        let fields: Vec<_> =
            types.iter().enumerate().map(|(number, name)| format!("    root{number}: {};\n", name.as_ref())).collect();
        let interface = format!("\nexport interface {ROOTS} {{\n{}}}\n", fields.concat());
        self.text.push_str(&interface);
    }

    /// The packages that the file imports from.
    pub(crate) fn imported_packages(&self) -> Vec<&str> {
        let from = |line: &'_ str| -> Option<(usize, usize)> {
            let start = line.rfind(" from ")? + " from ".len() + 1;
            let end = line.rfind(['\'', '"']).filter(|end| *end > start)?;
            Some((start, end))
        };
        self.text
            .lines()
            .filter(|line| line.starts_with("import "))
            .filter_map(|line| from(line).map(|(start, end)| &line[start..end]))
            .filter(|module| !module.starts_with('.'))
            .map(|module| {
                let scoped = usize::from(module.starts_with('@'));
                module.match_indices('/').nth(scoped).map_or(module, |(end, _)| &module[..end])
            })
            .collect()
    }

    /// Replaces the lines for which `edit` has a replacement, and says whether there was one.
    fn edit_lines(&mut self, edit: impl Fn(&str) -> Option<String>) -> bool {
        let mut edited = false;
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.lines() {
            let replacement = edit(line);
            edited |= replacement.is_some();
            text.push_str(replacement.as_deref().unwrap_or(line));
            text.push('\n');
        }
        self.text = text;
        edited
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
    fn the_edits_do_what_they_say() {
        let mut file = Declarations::new(VENDOR.to_owned());
        file.drop_prefix("core.");
        file.export_types();
        file.stand_in_for_import("UUID", "string");
        file.import_from("A", "@scope/pkg/other.js");
        file.stand_in_for_type("Usage", "A");
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
    fn an_edit_that_finds_nothing_says_so() {
        let mut file = Declarations::new(VENDOR.to_owned());
        file.drop_prefix("elsewhere.");
        file.stand_in_for_import("JSONRPCMessage", "unknown");
        file.stand_in_for_type("Gone", "A");
        assert_eq!(file.finish().1.len(), 3);
    }

    #[test]
    fn imported_packages_are_named_without_their_paths() {
        let file = Declarations::new(VENDOR.to_owned());
        assert_eq!(file.imported_packages(), ["crypto", "zod", "@scope/pkg"]);
    }
}
