//! The drift report as text.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use super::Schemas;
use super::arms::Arms;
use super::compare::{Change, Class};
use super::model::Model;
use super::scope::Scope;
use crate::recipes::recipe;
use interlingua_agents::Agent;

/// The column at which a list of names is broken.
const WIDTH: usize = 110;
/// How many places are named per change.
const PLACES: usize = 3;

/// Everything the report says.
pub(crate) struct Report<'a> {
    pub(super) old: &'a Schemas,
    pub(super) new: &'a Schemas,
    /// The changes that are listed.
    pub(super) used: Vec<Change>,
    /// The types that are sent.
    pub(super) sent: &'a BTreeSet<String>,
    /// The changes that are only counted.
    pub(super) unused: Vec<Change>,
    /// Whether a type, or a member of it, is generated here.
    pub(super) is_used: &'a dyn Fn(&str, Option<&str>) -> bool,
    pub(super) scope: Option<&'a Scope>,
    /// `None` where no repository is at hand.
    pub(super) arms: Option<&'a Arms>,
    /// The source of what is sent to the agent; `None` where no repository is at hand.
    pub(super) senders: Option<&'a Arms>,
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "drift of {}: {}", self.new.agent, counts(&self.used))?;
        for class in [Class::Breaking, Class::Additive] {
            let mut changes = self.used.iter().filter(|change| change.class == class).peekable();
            if changes.peek().is_some() {
                writeln!(f, "{}:", name(class))?;
            }
            for change in changes {
                self.change(f, change)?;
            }
        }
        let cosmetic = self.used.iter().filter(|change| change.class == Class::Cosmetic);
        let cosmetic: Vec<_> = cosmetic.map(|change| change.of.as_str()).collect();
        if !cosmetic.is_empty() {
            writeln!(f, "{} (descriptions, limits or order only):", name(Class::Cosmetic))?;
            names(f, &cosmetic)?;
        }
        if !self.unused.is_empty() {
            let counts = counts(&self.unused);
            writeln!(f, "in types that are not generated here: {counts} (`drift --all` lists them)")?;
        }
        self.unhandled(f)
    }
}

impl Report<'_> {
    fn change(&self, f: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
        let dot = if change.at.is_empty() || change.at.starts_with(['<', '[', '{']) { "" } else { "." };
        write!(f, "  {}{dot}{}: {}", change.of, change.at, change.what)?;
        let places = self.arms.map(|arms| self.places(arms, change)).unwrap_or_default();
        if !places.is_empty() {
            write!(f, "  [{}]", places.join(", "))?;
        }
        if let Some(senders) = self.senders.filter(|_| self.sent.contains(&change.of)) {
            self.sender(f, senders, change)?;
        }
        writeln!(f)
    }

    /// Where a driver sends what has changed, and in which request.
    fn sender(&self, f: &mut fmt::Formatter<'_>, senders: &Arms, change: &Change) -> fmt::Result {
        let names = self.rust_names(&change.of);
        let mut places = match &change.tag {
            Some(tag) => senders.of_member(&names, tag),
            None if change.at.is_empty() => senders.of_type(&names),
            None => senders.of_field(&names, &change.at),
        };
        places.truncate(PLACES);
        if places.is_empty() {
            return Ok(());
        }
        let agent = Agent::from_id(&self.new.agent).map_or("agent", |agent| agent.descriptor().display_name);
        let members = [self.new, self.old].map(|schemas| schemas.model.members_with(&change.of));
        let method = members.into_iter().flatten().find(|(union, _)| self.sent.contains(*union));
        let method = method.map(|(_, method)| format!("`{method}`, ")).unwrap_or_default();
        write!(f, "  ({method}used by the {agent} driver at {})", places.join(", "))
    }

    /// The converter arms that a change touches: the one of its tag, else those through which its type is met.
    fn places(&self, arms: &Arms, change: &Change) -> Vec<String> {
        if let Some(tag) = &change.tag {
            return arms.of_member(&self.rust_names(&change.of), tag);
        }
        let named = arms.of_type(&self.rust_names(&change.of));
        if !named.is_empty() {
            return named;
        }
        let members = [self.new, self.old].map(|schemas| schemas.model.members_with(&change.of));
        let members = members.into_iter().find(|members| !members.is_empty()).unwrap_or_default();
        let arms_of = |(union, tag): &(&str, &str)| arms.of_member(&self.rust_names(union), tag);
        let mut places: Vec<_> = members.iter().flat_map(arms_of).collect();
        places.sort();
        places.dedup();
        places.truncate(PLACES);
        places
    }

    /// What the type `of` may be called in a converter.
    fn rust_names(&self, of: &str) -> Vec<String> {
        let mut names = self.scope.map(|scope| scope.rust_names(of)).unwrap_or_default();
        names.push(of.rsplit("::").next().unwrap_or(of).to_owned());
        names
    }

    /// The members of unions that no converter arm names: for the unions that the agent's events are made of, and
    /// for every other union that the converter names (into the rest it does not look).
    fn unhandled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(arms) = self.arms else { return Ok(()) };
        let agent = &self.new.agent;
        if !arms.exist() {
            return writeln!(f, "no converter handles {agent} yet (crates/convert/src/{agent}.rs)");
        }
        let roots = Agent::from_id(agent).map_or(&[][..], |agent| recipe(agent).read);
        let model = &self.new.model;
        for (union, shape) in &model.types {
            let Some(members) = shape.unions.get("") else {
                continue;
            };
            let rust_names = self.rust_names(union);
            let root = roots.contains(&union.as_str());
            let looked_into = root || !arms.of_type(&rust_names).is_empty();
            if !looked_into || !(self.is_used)(union, None) {
                continue;
            }
            let members = members.iter().filter(|(tag, is)| (self.is_used)(union, Some(tag)) && !is_union(model, is));
            let tags: Vec<_> = members.map(|(tag, _)| tag.as_str()).collect();
            let is_open = |tag: &&str| arms.of_member(&rust_names, tag).is_empty();
            let open: Vec<_> = tags.iter().copied().filter(is_open).collect();
            if !open.is_empty() {
                writeln!(f, "{union}: {} of {} members have no converter arm:", open.len(), tags.len())?;
                names(f, &open)?;
            }
        }
        Ok(())
    }
}

fn counts(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "none".to_owned();
    }
    let count = |class| changes.iter().filter(|change| change.class == class).count();
    let [breaking, additive, cosmetic] = [Class::Breaking, Class::Additive, Class::Cosmetic].map(count);
    format!("{breaking} breaking, {additive} additive, {cosmetic} cosmetic")
}

/// Whether the type `name` is nothing but a union; its members are listed under its own name.
fn is_union(model: &Model, name: &str) -> bool {
    model.types.get(name).is_some_and(|shape| shape.unions.contains_key("") && shape.fields.is_empty())
}

const fn name(class: Class) -> &'static str {
    match class {
        Class::Breaking => "breaking",
        Class::Additive => "additive",
        Class::Cosmetic => "cosmetic",
    }
}

/// A list of names, as many on a line as fit.
fn names(f: &mut fmt::Formatter<'_>, names: &[&str]) -> fmt::Result {
    let mut line = String::new();
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 == names.len() { "" } else { "," };
        if !line.is_empty() && line.len() + name.len() + 2 > WIDTH {
            writeln!(f, " {line}")?;
            line.clear();
        }
        line.push(' ');
        line.push_str(name);
        line.push_str(comma);
    }
    writeln!(f, " {line}")
}
