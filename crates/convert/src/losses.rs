//! What a payload lost in decoding, reported in the stream.

use interlingua_native::{LossList, Losses, UnknownKind, UnknownPart};

use crate::Drafts;
use crate::draft::DraftAction;

/// How many losses of one payload are reported one by one.
const MAX_REPORTED: usize = 8;

/// Reports each loss of a payload that a converter has just handled as `agent.unparsed`, with its path and reason.
///
/// Of a payload that was dropped by name, unknown values do not matter, and the rest is one report: it may be why the
/// payload looked empty.
#[inline]
pub(crate) fn report_losses(location: &'static str, losses: &Losses, out: &mut Drafts) {
    if !losses.is_empty() {
        report(location, losses, out);
    }
}

#[cold]
fn report(location: &'static str, losses: &LossList, out: &mut Drafts) {
    let was_dropped = out.dropped.is_some() && !out.has_made_any();
    let is_damaged = !losses.repairs.is_empty();
    let is_left = |unknown: &&UnknownPart| match unknown.kind {
        // The converter says itself what it makes of an unknown payload, and mostly of an unknown part.
        UnknownKind::Tag => unknown.path != "." && !is_reported(unknown, out),
        UnknownKind::Value | UnknownKind::JsonKind => !was_dropped && !is_reported(unknown, out),
    };
    let repairs = losses.repairs.iter().map(|repair| (repair.path.as_str(), repair.reason.as_str()));
    let missing = losses.missing.iter().map(|missing| (missing.path.as_str(), missing.reason.as_str()));
    let unknown = losses.unknown.iter().filter(is_left);
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

/// Whether the converter has reported an unknown tag or value itself, by that word.
fn is_reported(unknown: &UnknownPart, out: &Drafts) -> bool {
    let tag = unknown.reason.split('`').nth(1).and_then(|tag| tag.rsplit('/').next()).unwrap_or_default();
    out.made().iter().any(|draft| match &draft.action {
        DraftAction::Unparsed(unparsed) => {
            unparsed.error.contains(tag) || unparsed.native_type.as_ref().is_some_and(|native| native.contains(tag))
        }
        _ => false,
    })
}

/// Whether an event only reports an expected field that is missing. Lines in tests have just what the test is about.
#[cfg(test)]
pub(crate) fn reports_missing_field(event: &interlingua_schema::UniversalEvent) -> bool {
    match &event.data {
        interlingua_schema::EventData::AgentUnparsed(unparsed) => unparsed.error.contains(" lacks `"),
        _ => false,
    }
}

/// How many reports there are, but for those of missing fields.
#[cfg(test)]
pub(crate) fn count_unparsed(tally: &crate::ConversionStats) -> u64 {
    let reasons = tally.unparsed_reasons.iter();
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
        let acts = out.list.iter().map(|draft| &draft.action);
        acts.filter_map(
            |act| if let DraftAction::Unparsed(unparsed) = act { Some(unparsed.error.as_str()) } else { None },
        )
        .collect()
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
