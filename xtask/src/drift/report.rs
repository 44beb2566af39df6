//! Renders the drift report.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use super::Schemas;
use super::compare::{Change, ChangeClass};
use super::model::Model;
use super::scope::Scope;
use super::source_search::SourceSearch;
use crate::recipes::recipe;
use interlingua_agents::Agent;

/// Maximum width of a line in a list of names.
const MAX_WIDTH: usize = 110;
/// Maximum number of places per change.
const MAX_PLACES: usize = 3;

/// The data of the report.
pub(crate) struct Report<'a> {
    pub(super) old: &'a Schemas,
    pub(super) new: &'a Schemas,
    /// Changes of types that are generated here. They are listed.
    pub(super) used: Vec<Change>,
    /// The types that are sent.
    pub(super) sent: &'a BTreeSet<String>,
    /// Changes of other types. They are only counted.
    pub(super) unused: Vec<Change>,
    /// Whether a type, or the member of a union with this tag, is generated here.
    pub(super) is_used: &'a dyn Fn(&str, Option<&str>) -> bool,
    pub(super) scope: Option<&'a Scope>,
    /// The source of the agent's converter. `None` outside of a repository.
    pub(super) converters: Option<&'a SourceSearch>,
    /// The source of the agent's protocol and driver. `None` outside of a repository.
    pub(super) drivers: Option<&'a SourceSearch>,
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "schema changes of {}: {}", self.new.agent, render_counts(&self.used))?;
        for class in [ChangeClass::Breaking, ChangeClass::Additive] {
            let mut changes = self.used.iter().filter(|change| change.class == class).peekable();
            if changes.peek().is_some() {
                writeln!(f, "{}:", class_heading(class))?;
            }
            for change in changes {
                self.write_change(f, change)?;
            }
        }
        let cosmetic = self.used.iter().filter(|change| change.class == ChangeClass::Cosmetic);
        let cosmetic: Vec<_> = cosmetic.map(|change| change.type_name.as_str()).collect();
        if !cosmetic.is_empty() {
            writeln!(f, "{}:", class_heading(ChangeClass::Cosmetic))?;
            write_names(f, &cosmetic)?;
        }
        if !self.unused.is_empty() {
            let counts = render_counts(&self.unused);
            writeln!(
                f,
                "changes of types that are not generated here: {counts} (list them with `cargo xtask drift --all`)"
            )?;
        }
        self.write_unhandled(f)
    }
}

impl Report<'_> {
    fn write_change(&self, f: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
        let dot = if change.path.is_empty() || change.path.starts_with(['<', '[', '{']) { "" } else { "." };
        write!(f, "  {}{dot}{}: {}", change.type_name, change.path, change.description)?;
        writeln!(f)?;
        let places = self.converters.map(|converters| self.converter_places(converters, change)).unwrap_or_default();
        if !places.is_empty() {
            writeln!(f, "    check the converter: {}", places.join(", "))?;
        }
        match self.drivers.filter(|_| self.sent.contains(&change.type_name)) {
            Some(drivers) => self.write_driver_places(f, drivers, change),
            None => Ok(()),
        }
    }

    /// Writes where the protocol or driver sends the changed type, and in which request.
    fn write_driver_places(&self, f: &mut fmt::Formatter<'_>, drivers: &SourceSearch, change: &Change) -> fmt::Result {
        let names = self.rust_names(&change.type_name);
        let mut places = match &change.tag {
            Some(tag) => drivers.find_member(&names, tag),
            None if change.path.is_empty() => drivers.find_type(&names),
            None => drivers.find_field(&names, &change.path),
        };
        places.truncate(MAX_PLACES);
        if places.is_empty() {
            return Ok(());
        }
        let members = [self.new, self.old].map(|schemas| schemas.model.members_containing(&change.type_name));
        let method = members.into_iter().flatten().find(|(union, _)| self.sent.contains(*union));
        let request = method.map(|(_, method)| format!(" (request `{method}`)")).unwrap_or_default();
        writeln!(f, "    check the driver{request}: {}", places.join(", "))
    }

    /// The converter arms that a change affects: the arm of its tag, or the arms of the union members that contain its
    /// type.
    fn converter_places(&self, converters: &SourceSearch, change: &Change) -> Vec<String> {
        if let Some(tag) = &change.tag {
            return converters.find_member(&self.rust_names(&change.type_name), tag);
        }
        let by_type = converters.find_type(&self.rust_names(&change.type_name));
        if !by_type.is_empty() {
            return by_type;
        }
        let members = [self.new, self.old].map(|schemas| schemas.model.members_containing(&change.type_name));
        let members = members.into_iter().find(|members| !members.is_empty()).unwrap_or_default();
        let find_arms = |(union, tag): &(&str, &str)| converters.find_member(&self.rust_names(union), tag);
        let mut places: Vec<_> = members.iter().flat_map(find_arms).collect();
        places.sort();
        places.dedup();
        places.truncate(MAX_PLACES);
        places
    }

    /// The names that a type may have in Rust.
    fn rust_names(&self, type_name: &str) -> Vec<String> {
        let mut names = self.scope.map(|scope| scope.rust_names(type_name)).unwrap_or_default();
        names.push(type_name.rsplit("::").next().unwrap_or(type_name).to_owned());
        names
    }

    /// Writes the union members without a converter arm: of the unions of which the agent's messages are made, and of
    /// every other union that the converter names.
    fn write_unhandled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(converters) = self.converters else { return Ok(()) };
        let agent = &self.new.agent;
        if converters.is_empty() {
            return writeln!(f, "{agent} has no converter yet; add crates/convert/src/{agent}.rs");
        }
        let roots = Agent::from_id(agent).map_or(&[][..], |agent| recipe(agent).received_types);
        let model = &self.new.model;
        for (union, shape) in &model.types {
            let Some(members) = shape.unions.get("") else {
                continue;
            };
            let rust_names = self.rust_names(union);
            let is_root = roots.contains(&union.as_str());
            let is_matched = is_root || !converters.find_type(&rust_names).is_empty();
            if !is_matched || !(self.is_used)(union, None) {
                continue;
            }
            let members = members
                .iter()
                .filter(|(tag, printed_type)| (self.is_used)(union, Some(tag)) && !is_union(model, printed_type));
            let tags: Vec<_> = members.map(|(tag, _)| tag.as_str()).collect();
            let has_no_arm = |tag: &&str| converters.find_member(&rust_names, tag).is_empty();
            let unhandled: Vec<_> = tags.iter().copied().filter(has_no_arm).collect();
            if !unhandled.is_empty() {
                writeln!(f, "{union}: {} of {} members have no converter arm:", unhandled.len(), tags.len())?;
                write_names(f, &unhandled)?;
            }
        }
        Ok(())
    }
}

fn render_counts(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "none".to_owned();
    }
    let count = |class| changes.iter().filter(|change| change.class == class).count();
    let [breaking, additive, cosmetic] =
        [ChangeClass::Breaking, ChangeClass::Additive, ChangeClass::Cosmetic].map(count);
    format!("{breaking} breaking, {additive} additive, {cosmetic} cosmetic")
}

/// Whether the type `name` is only a union. Its members are listed under its own name.
fn is_union(model: &Model, name: &str) -> bool {
    model.types.get(name).is_some_and(|shape| shape.unions.contains_key("") && shape.fields.is_empty())
}

const fn class_heading(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Breaking => "breaking",
        ChangeClass::Additive => "additive",
        ChangeClass::Cosmetic => "cosmetic (only descriptions, limits or order)",
    }
}

/// Writes a list of names with line breaks.
fn write_names(f: &mut fmt::Formatter<'_>, names: &[&str]) -> fmt::Result {
    let mut line = String::new();
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 == names.len() { "" } else { "," };
        if !line.is_empty() && line.len() + name.len() + 2 > MAX_WIDTH {
            writeln!(f, " {line}")?;
            line.clear();
        }
        line.push(' ');
        line.push_str(name);
        line.push_str(comma);
    }
    writeln!(f, " {line}")
}
