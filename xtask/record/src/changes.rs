//! What is different between two sets of recordings of the same scenarios.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::shape::Shape;

/// How many fields of one kind are named.
const FIELDS: usize = 8;
/// How many scenarios are named before they are only counted.
const NAMES: usize = 3;

/// Differences, gathered over scenarios.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Every kind that is in any recording of the version before, whichever scenario it is of.
    known: BTreeSet<String>,
    /// How many scenarios were compared.
    compared: usize,
    /// What is different, and in which scenarios.
    found: BTreeMap<(Topic, String), Vec<String>>,
    /// The fields of each kind, before and now.
    fields: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>,
}

/// What a difference is about; the order is that of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    New,
    Gone,
    Moved,
    Count,
    UniversalNew,
    UniversalGone,
}

impl Topic {
    fn title(self) -> &'static str {
        match self {
            Self::New => "event types new in a scenario",
            Self::Gone => "event types gone from a scenario",
            Self::Moved => "reordered",
            Self::Count => "more or fewer",
            Self::UniversalNew => "universal events new",
            Self::UniversalGone => "universal events gone",
        }
    }
}

impl Changes {
    /// Differences to a version whose recordings have these kinds.
    pub(crate) fn to(known: BTreeSet<String>) -> Self {
        Self { known, ..Self::default() }
    }

    /// Compares two recordings of a scenario.
    pub(crate) fn compare(&mut self, scenario: &str, before: &Shape, now: &Shape) {
        self.compared += 1;
        for (kind, count) in &now.counts {
            match before.counts.get(kind) {
                None => self.note(Topic::New, kind.clone(), scenario),
                Some(was) if was != count && before.order.contains(kind) => {
                    self.note(Topic::Count, format!("{kind}: {count} instead of {was}"), scenario);
                }
                Some(_) => {}
            }
        }
        for kind in before.counts.keys().filter(|kind| !now.counts.contains_key(*kind)) {
            self.note(Topic::Gone, kind.clone(), scenario);
        }
        for moved in moved(before, now) {
            self.note(Topic::Moved, moved, scenario);
        }
        for (line, more) in surplus(&before.universal, &now.universal) {
            let topic = if more > 0 { Topic::UniversalNew } else { Topic::UniversalGone };
            self.note(topic, line, scenario);
        }
        for (shape, which) in [(before, 0), (now, 1)] {
            for (kind, fields) in &shape.fields {
                let both = self.fields.entry(kind.clone()).or_default();
                let side = if which == 0 { &mut both.0 } else { &mut both.1 };
                side.extend(fields.iter().cloned());
            }
        }
    }

    fn note(&mut self, topic: Topic, what: String, scenario: &str) {
        let scenarios = self.found.entry((topic, what)).or_default();
        if !scenarios.iter().any(|known| known == scenario) {
            scenarios.push(scenario.to_owned());
        }
    }

    /// The report; nothing if there is no difference. `known` is every kind that is in any recording of the version
    /// now.
    pub(crate) fn report(&self, known: &BTreeSet<String>) -> String {
        let mut report = String::new();
        if !self.found.is_empty() {
            // What only moved from one scenario to another is nothing that a converter has never seen.
            for (title, topic, known) in [
                ("event types new to the version", Topic::New, &self.known),
                ("event types gone from the version", Topic::Gone, known),
            ] {
                let kinds = self.found.keys().filter(|(of, kind)| *of == topic && !known.contains(kind));
                let kinds: Vec<&str> = kinds.map(|(_, kind)| kind.as_str()).collect();
                let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
                let _ = writeln!(report, "  {title}: {kinds}");
            }
        }
        let mut last = None;
        for ((topic, what), scenarios) in &self.found {
            if last != Some(*topic) {
                let _ = writeln!(report, "  {}", topic.title());
                last = Some(*topic);
            }
            let _ = writeln!(report, "    {what}  ({})", self.places(scenarios));
        }
        self.report_fields(&mut report);
        report
    }

    /// Fields that came or went. One that many kinds have is told once.
    fn report_fields(&self, report: &mut String) {
        let mut kinds_of: BTreeMap<(char, String), Vec<&str>> = BTreeMap::new();
        for (kind, (before, now)) in &self.fields {
            if before.is_empty() || now.is_empty() {
                continue;
            }
            for (sign, fields) in [('+', outermost(now, before)), ('-', outermost(before, now))] {
                for field in fields {
                    kinds_of.entry((sign, field)).or_default().push(kind);
                }
            }
        }
        // The kinds that have changed in the same way, with the fields.
        let mut alike: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for ((sign, field), kinds) in kinds_of {
            alike.entry(kinds).or_default().push(format!("{sign} {field}"));
        }
        if !alike.is_empty() {
            *report += "  fields of event types that both have\n";
        }
        for (kinds, fields) in alike {
            let more = fields.len().saturating_sub(FIELDS);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let fields = fields.into_iter().take(FIELDS).collect::<Vec<_>>().join(", ");
            let kinds = match kinds.len() {
                1..=NAMES => kinds.join(", "),
                many => format!("{many} event types, {} among them", kinds[0]),
            };
            let _ = writeln!(report, "    {kinds}\n      {fields}{more}");
        }
    }

    fn places(&self, scenarios: &[String]) -> String {
        match scenarios.len() {
            1..=NAMES => scenarios.join(", "),
            all if all == self.compared => format!("in all {all} scenarios"),
            some => format!("in {some} of {} scenarios", self.compared),
        }
    }
}

/// The `fields` that are not among the `others`, without what is below another of them.
fn outermost(fields: &BTreeSet<String>, others: &BTreeSet<String>) -> Vec<String> {
    let only: Vec<&String> = fields.difference(others).collect();
    let below = |field: &str, other: &str| field.strip_prefix(other).is_some_and(|rest| rest.starts_with(['.', '[']));
    only.iter().filter(|field| !only.iter().any(|other| below(field, other))).map(|field| (*field).clone()).collect()
}

/// The kinds that both have and that stand in another place among the others that both have.
fn moved(before: &Shape, now: &Shape) -> Vec<String> {
    let common = |of: &Shape, other: &Shape| -> Vec<String> {
        of.order.iter().filter(|kind| other.counts.contains_key(*kind)).cloned().collect()
    };
    let (old, new) = (common(before, now), common(now, before));
    let (mut left, mut came) = (BTreeSet::new(), BTreeMap::new());
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        left.extend(old[operation.old_range()].iter().cloned());
        for at in operation.new_range() {
            let after = at.checked_sub(1).map_or("the beginning", |before| new[before].as_str());
            came.entry(new[at].clone()).or_insert_with(|| after.to_owned());
        }
    }
    came.into_iter()
        .filter(|(kind, _)| left.contains(kind))
        .map(|(kind, after)| format!("{kind} now comes after {after}"))
        .collect()
}

/// How many more of each line there are now; fewer is negative.
fn surplus(before: &[String], now: &[String]) -> BTreeMap<String, i64> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for line in now {
        *counts.entry(line.clone()).or_default() += 1;
    }
    for line in before {
        *counts.entry(line.clone()).or_default() -= 1;
    }
    counts.retain(|_, count| *count != 0);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(order: &[&str], fields: &[(&str, &str)], universal: &[&str]) -> Shape {
        let mut shape = Shape { order: order.iter().map(|kind| (*kind).to_owned()).collect(), ..Shape::default() };
        for kind in order {
            *shape.counts.entry((*kind).to_owned()).or_default() += 1;
        }
        for (kind, field) in fields {
            shape.fields.entry((*kind).to_owned()).or_default().insert((*field).to_owned());
        }
        shape.universal = universal.iter().map(|line| (*line).to_owned()).collect();
        shape
    }

    fn kinds(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_report_says_what_is_new_gone_moved_and_where() {
        let before = shape(&["a", "b", "c", "old"], &[("a", "x"), ("a", "y")], &["turn.started"]);
        let now =
            shape(&["a", "c", "b", "new"], &[("a", "x"), ("a", "z"), ("a", "z.deep")], &["turn.started", "error"]);
        let mut changes = Changes::to(kinds(&["a", "b", "c", "old"]));
        changes.compare("one", &before, &now);
        changes.compare("two", &before, &before);
        assert_eq!(
            changes.report(&kinds(&["a", "b", "c", "new", "old"])),
            "  event types new to the version: new\n  event types gone from the version: none\n  \
             event types new in a scenario\n    new  (one)\n  event types gone from a scenario\n    old  (one)\n  \
             reordered\n    c now comes after a  (one)\n  universal events new\n    error  (one)\n  \
             fields of event types that both have\n    a\n      + z\n"
        );
    }

    #[test]
    fn what_is_new_in_a_scenario_only_is_not_new_to_the_version() {
        let (before, now) = (shape(&["a", "old"], &[], &[]), shape(&["a", "new", "moved"], &[], &[]));
        let mut changes = Changes::to(kinds(&["a", "old", "moved"]));
        changes.compare("one", &before, &now);
        let report = changes.report(&kinds(&["a", "new", "moved"]));
        let top = "  event types new to the version: new\n  event types gone from the version: old\n";
        assert!(report.starts_with(top), "{report}");
        assert!(report.contains("event types new in a scenario\n    moved  (one)\n    new  (one)\n"), "{report}");
    }

    #[test]
    fn nothing_different_is_nothing_to_say() {
        let same = shape(&["a", "b"], &[("a", "x")], &["turn.started"]);
        let mut changes = Changes::default();
        changes.compare("one", &same, &same);
        assert_eq!(changes.report(&kinds(&[])), "");
    }
}
