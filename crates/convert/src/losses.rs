//! Reports of losses: parts of a payload that were left out in decoding.

use interlingua_native::{LossList, Losses, UnknownKind, UnknownPart};

use crate::Drafts;
use crate::draft::DraftAction;

/// Maximum number of losses of one payload that are reported one by one.
const MAX_REPORTED: usize = 8;

/// Reports each loss of a payload as `agent.unparsed`, with its path and reason. Call this after the converter has
/// handled the payload.
///
/// For a dropped payload, unknown values do not matter, and other losses are reported once: they may be the reason why
/// the payload looked empty.
#[inline]
pub(crate) fn report_losses(location: &'static str, losses: &Losses, out: &mut Drafts) {
    if !losses.is_empty() {
        report(location, losses, out);
    }
}

#[cold]
fn report(location: &'static str, losses: &LossList, out: &mut Drafts) {
    let was_dropped = out.dropped.is_some() && !out.has_input_drafts();
    let is_damaged = !losses.repairs.is_empty();
    let needs_report = |unknown: &&UnknownPart| match unknown.kind {
        // The converter itself reports an unknown payload, and mostly an unknown part.
        UnknownKind::Tag => unknown.path != "." && !is_reported(unknown, out),
        UnknownKind::Value | UnknownKind::JsonKind => !was_dropped && !is_reported(unknown, out),
    };
    let repairs = losses.repairs.iter().map(|repair| (repair.path.as_str(), repair.reason.as_str()));
    let missing = losses.missing.iter().map(|missing| (missing.path.as_str(), missing.reason.as_str()));
    let unknown = losses.unknown.iter().filter(needs_report);
    let unknown = unknown.map(|unknown| (unknown.path.as_str(), unknown.reason.as_str()));
    let found: Vec<(&str, &str)> = repairs.chain(missing).chain(unknown).collect();
    let limit = if was_dropped { 1 } else { MAX_REPORTED };
    let rest = found.len().saturating_sub(limit);
    let native_type = || Some(losses.tag.clone()).filter(|tag| !tag.is_empty());
    for (path, reason) in found.into_iter().take(limit) {
        let error = if path == "." { reason.to_owned() } else { format!("at {path}: {reason}") };
        if is_damaged {
            out.last_addressed_session().partially_unparsed(location, error, native_type());
        } else {
            out.last_addressed_session().unparsed(location, error, native_type());
        }
    }
    if rest > 0 {
        let error = format!("{rest} more parts were lost or are unknown");
        out.last_addressed_session().unparsed(location, error, native_type());
    }
}

/// Whether a report of the converter itself contains the unknown tag or value.
fn is_reported(unknown: &UnknownPart, out: &Drafts) -> bool {
    let tag = unknown.reason.split('`').nth(1).and_then(|tag| tag.rsplit('/').next()).unwrap_or_default();
    out.input_drafts().iter().any(|draft| match &draft.action {
        DraftAction::Unparsed(unparsed) => {
            unparsed.error.contains(tag) || unparsed.native_type.as_ref().is_some_and(|native| native.contains(tag))
        }
        _ => false,
    })
}

/// Whether an event reports a missing field. Lines in tests contain only the fields that the test needs.
#[cfg(test)]
pub(crate) fn reports_missing_field(event: &interlingua_schema::UniversalEvent) -> bool {
    match &event.data {
        interlingua_schema::EventData::AgentUnparsed(unparsed) => unparsed.error.contains(" lacks `"),
        _ => false,
    }
}

/// Number of reports, except those of missing fields.
#[cfg(test)]
pub(crate) fn count_unparsed(stats: &crate::ConversionStats) -> u64 {
    let reasons = stats.unparsed_reasons.iter();
    reasons.filter(|(reason, _)| !reason.error.contains(" lacks `")).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use interlingua_native::Repair;

    use super::*;

    fn losses(count: usize) -> Losses {
        let repair = |index| Repair { path: format!("items.{index}"), reason: "no item".to_owned() };
        LossList { tag: "turn".to_owned(), repairs: (0..count).map(repair).collect(), ..LossList::EMPTY }.into()
    }

    fn reported(out: &Drafts) -> Vec<&str> {
        let actions = out.list.iter().map(|draft| &draft.action);
        let errors = actions.filter_map(|action| match action {
            DraftAction::Unparsed(unparsed) => Some(unparsed.error.as_str()),
            _ => None,
        });
        errors.collect()
    }

    #[test]
    fn the_first_eight_losses_are_reported_and_the_others_are_counted() {
        let mut out = Drafts::default();
        report_losses("toy", &losses(11), &mut out);
        let errors = reported(&out);
        assert_eq!(errors.len(), 9);
        assert_eq!(errors[0], "at items.0: no item");
        assert_eq!(errors[8], "3 more parts were lost or are unknown");
    }

    #[test]
    fn a_dropped_payload_that_lost_a_part_is_one_report() {
        let mut out = Drafts::default();
        out.dropped("state echo");
        report_losses("toy", &losses(1), &mut out);
        assert_eq!(reported(&out), ["at items.0: no item"]);
    }

    #[test]
    fn a_payload_that_lost_nothing_is_not_reported() {
        let mut out = Drafts::default();
        report_losses("toy", &Losses::default(), &mut out);
        assert!(out.list.is_empty());
    }
}
