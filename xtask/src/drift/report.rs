//! Renders the drift report.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use super::Schemas;
use super::compare::{Change, ChangeClass};
use super::places::Places;

/// Maximum width of a line in a list of names.
const MAX_WIDTH: usize = 110;

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
    /// The places in the source. `None` outside of a repository.
    pub(super) places: Option<&'a Places>,
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
        let Some(places) = self.places else { return Ok(()) };
        let in_converter = places.in_converter(change);
        if !in_converter.is_empty() {
            writeln!(f, "    check the converter: {}", in_converter.join(", "))?;
        }
        if !self.sent.contains(&change.type_name) {
            return Ok(());
        }
        let in_driver = places.in_driver(change);
        if in_driver.is_empty() {
            return Ok(());
        }
        let members = [self.new, self.old].map(|schemas| schemas.model.members_containing(&change.type_name));
        let method = members.into_iter().flatten().find(|(union, _)| self.sent.contains(*union));
        let request = method.map(|(_, method)| format!(" (request `{method}`)")).unwrap_or_default();
        writeln!(f, "    check the driver{request}: {}", in_driver.join(", "))
    }

    /// Writes the matches of the converter that have no arm for some variants.
    fn write_unhandled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(places) = self.places else { return Ok(()) };
        let agent = &self.new.agent;
        if !places.has_converter() {
            return writeln!(f, "{agent} has no converter yet; add crates/convert/src/{agent}.rs");
        }
        if let Some(reason) = &places.rejected {
            return writeln!(f, "the code generator rejects the new schema: {reason}");
        }
        for found in places.incomplete_matches() {
            let (missing, variants) = (found.missing_tags.len(), found.variants);
            writeln!(f, "{}: {missing} of {variants} tags have no arm in {}:", found.union, found.place)?;
            write_names(f, &found.missing_tags.iter().map(String::as_str).collect::<Vec<_>>())?;
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
