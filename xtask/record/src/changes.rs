//! The differences between two sets of recordings of the same scenarios.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::shape::Shape;

/// Maximum number of fields that are listed together.
const MAX_FIELDS: usize = 8;
/// Maximum number of scenarios or kinds that are listed; more are only counted.
const MAX_NAMES: usize = 3;

/// Differences of all compared scenarios.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// All kinds in the recordings of the earlier version, whatever the scenario.
    kinds_before: BTreeSet<String>,
    /// Number of compared scenarios.
    compared: usize,
    /// Differences, and the scenarios in which they occur.
    differences: BTreeMap<(Topic, String), Vec<String>>,
    /// Fields of each kind, before and now.
    fields: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>,
}

/// Topic of a difference, in the order of the report.
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
    /// Starts a comparison with an earlier version whose recordings have these kinds.
    pub(crate) fn new(kinds_before: BTreeSet<String>) -> Self {
        Self { kinds_before, ..Self::default() }
    }

    /// Compares two recordings of a scenario.
    pub(crate) fn compare(&mut self, scenario: &str, before: &Shape, now: &Shape) {
        self.compared += 1;
        for (kind, count) in &now.counts {
            match before.counts.get(kind) {
                None => self.add(Topic::New, kind.clone(), scenario),
                Some(earlier) if earlier != count && before.order.contains(kind) => {
                    self.add(Topic::Count, format!("{kind}: {count} instead of {earlier}"), scenario);
                }
                Some(_) => {}
            }
        }
        for kind in before.counts.keys().filter(|kind| !now.counts.contains_key(*kind)) {
            self.add(Topic::Gone, kind.clone(), scenario);
        }
        for moved in find_moved(before, now) {
            self.add(Topic::Moved, moved, scenario);
        }
        for (event, change) in count_changes(&before.universal, &now.universal) {
            let topic = if change > 0 { Topic::UniversalNew } else { Topic::UniversalGone };
            self.add(topic, event, scenario);
        }
        for (kind, fields) in &before.fields {
            self.fields.entry(kind.clone()).or_default().0.extend(fields.iter().cloned());
        }
        for (kind, fields) in &now.fields {
            self.fields.entry(kind.clone()).or_default().1.extend(fields.iter().cloned());
        }
    }

    fn add(&mut self, topic: Topic, difference: String, scenario: &str) {
        let scenarios = self.differences.entry((topic, difference)).or_default();
        if !scenarios.iter().any(|known| known == scenario) {
            scenarios.push(scenario.to_owned());
        }
    }

    /// Renders the report; empty if there is no difference. `kinds_now` are all kinds in the recordings of the current
    /// version.
    pub(crate) fn report(&self, kinds_now: &BTreeSet<String>) -> String {
        let mut report = String::new();
        if !self.differences.is_empty() {
            // A kind that only moved from one scenario to another is not new to a converter.
            for (title, topic, known) in [
                ("event types new to the version", Topic::New, &self.kinds_before),
                ("event types gone from the version", Topic::Gone, kinds_now),
            ] {
                let in_topic = |entry: &&(Topic, String)| entry.0 == topic && !known.contains(&entry.1);
                let kinds = self.differences.keys().filter(in_topic);
                let kinds: Vec<&str> = kinds.map(|(_, kind)| kind.as_str()).collect();
                let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
                let _ = writeln!(report, "  {title}: {kinds}");
            }
        }
        let mut last = None;
        for ((topic, difference), scenarios) in &self.differences {
            if last != Some(*topic) {
                let _ = writeln!(report, "  {}", topic.title());
                last = Some(*topic);
            }
            let _ = writeln!(report, "    {difference}  ({})", self.render_scenarios(scenarios));
        }
        self.report_fields(&mut report);
        report
    }

    /// Renders the fields that are new or gone. Kinds with the same changes are listed together.
    fn report_fields(&self, report: &mut String) {
        let mut kinds_by_change: BTreeMap<(char, String), Vec<&str>> = BTreeMap::new();
        for (kind, (before, now)) in &self.fields {
            if before.is_empty() || now.is_empty() {
                continue;
            }
            for (sign, fields) in [('+', outermost(now, before)), ('-', outermost(before, now))] {
                for field in fields {
                    kinds_by_change.entry((sign, field)).or_default().push(kind);
                }
            }
        }
        let mut changes_by_kinds: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for ((sign, field), kinds) in kinds_by_change {
            changes_by_kinds.entry(kinds).or_default().push(format!("{sign} {field}"));
        }
        if !changes_by_kinds.is_empty() {
            *report += "  fields of event types that both have\n";
        }
        for (kinds, fields) in changes_by_kinds {
            let more = fields.len().saturating_sub(MAX_FIELDS);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let fields = fields.into_iter().take(MAX_FIELDS).collect::<Vec<_>>().join(", ");
            let kinds = match kinds.len() {
                1..=MAX_NAMES => kinds.join(", "),
                count => format!("{count} event types, {} among them", kinds[0]),
            };
            let _ = writeln!(report, "    {kinds}\n      {fields}{more}");
        }
    }

    fn render_scenarios(&self, scenarios: &[String]) -> String {
        match scenarios.len() {
            1..=MAX_NAMES => scenarios.join(", "),
            count if count == self.compared => format!("in all {count} scenarios"),
            count => format!("in {count} of {} scenarios", self.compared),
        }
    }
}

/// The fields that are not in `others`. A field below another such field is left out.
fn outermost(fields: &BTreeSet<String>, others: &BTreeSet<String>) -> Vec<String> {
    let only: Vec<&String> = fields.difference(others).collect();
    let is_below =
        |field: &str, other: &str| field.strip_prefix(other).is_some_and(|rest| rest.starts_with(['.', '[']));
    only.iter().filter(|field| !only.iter().any(|other| is_below(field, other))).map(|field| (*field).clone()).collect()
}

/// Finds kinds that both shapes have, but in a different order among the common kinds.
fn find_moved(before: &Shape, now: &Shape) -> Vec<String> {
    let common = |shape: &Shape, other: &Shape| -> Vec<String> {
        shape.order.iter().filter(|kind| other.counts.contains_key(*kind)).cloned().collect()
    };
    let (old, new) = (common(before, now), common(now, before));
    let (mut removed, mut added) = (BTreeSet::new(), BTreeMap::new());
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        removed.extend(old[operation.old_range()].iter().cloned());
        for at in operation.new_range() {
            let after = at.checked_sub(1).map_or("the beginning", |before| new[before].as_str());
            added.entry(new[at].clone()).or_insert_with(|| after.to_owned());
        }
    }
    added
        .into_iter()
        .filter(|(kind, _)| removed.contains(kind))
        .map(|(kind, after)| format!("{kind} now comes after {after}"))
        .collect()
}

/// Change of the number of each line; negative if there are fewer now.
fn count_changes(before: &[String], now: &[String]) -> BTreeMap<String, i64> {
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
    fn a_report_lists_what_is_new_gone_and_moved_with_the_scenarios() {
        let before = shape(&["a", "b", "c", "old"], &[("a", "x"), ("a", "y")], &["turn.started"]);
        let now =
            shape(&["a", "c", "b", "new"], &[("a", "x"), ("a", "z"), ("a", "z.deep")], &["turn.started", "error"]);
        let mut changes = Changes::new(kinds(&["a", "b", "c", "old"]));
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
    fn a_kind_that_is_new_only_in_a_scenario_is_not_new_to_the_version() {
        let (before, now) = (shape(&["a", "old"], &[], &[]), shape(&["a", "new", "moved"], &[], &[]));
        let mut changes = Changes::new(kinds(&["a", "old", "moved"]));
        changes.compare("one", &before, &now);
        let report = changes.report(&kinds(&["a", "new", "moved"]));
        let top = "  event types new to the version: new\n  event types gone from the version: old\n";
        assert!(report.starts_with(top), "{report}");
        assert!(report.contains("event types new in a scenario\n    moved  (one)\n    new  (one)\n"), "{report}");
    }

    #[test]
    fn without_differences_the_report_is_empty() {
        let same = shape(&["a", "b"], &[("a", "x")], &["turn.started"]);
        let mut changes = Changes::default();
        changes.compare("one", &same, &same);
        assert_eq!(changes.report(&kinds(&[])), "");
    }
}
