//! What the last lines of a rollout file say about the session.

use interlingua_schema::Usage;
use serde::Deserialize;

use super::line::{Line, Payload};
use super::scan::Settings;
use super::thread_settings::permission_mode;
use crate::json::{Field, decode, number, text};
use crate::session::HistorySession;
use crate::tail::Tail;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    total_token_usage: Counts<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names on disk")]
struct Counts<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    cached_input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    reasoning_output_tokens: Field<'a>,
}

/// Adds the totals, and the settings of the last turn.
pub(super) fn describe(tail: &Tail, session: &mut HistorySession) {
    for line in tail.lines() {
        let Ok(line) = Line::parse(line) else { continue };
        let payload: Payload<'_> = decode(line.payload);
        match text(line.kind).as_deref() {
            Some("turn_context") if session.model.is_none() => {
                let settings = Settings::from_context(&payload);
                session.permission_mode = permission_mode(&settings);
                session.model = settings.model;
            }
            Some("event_msg") if session.usage.is_none() && text(payload.kind).as_deref() == Some("token_count") => {
                let Info { total_token_usage: counts } = decode(payload.info);
                session.usage = number(counts.input_tokens).map(|input| {
                    Usage::new(input, number(counts.output_tokens).unwrap_or_default())
                        .cached_input_tokens(number(counts.cached_input_tokens))
                        .reasoning_tokens(number(counts.reasoning_output_tokens))
                });
            }
            _ => {}
        }
    }
}
