//! What the last lines of a session file say about the session.

use super::line::{Line, LineKind};
use super::translate::mode_name;
use super::usage::UsageCounter;
use crate::json::text;
use crate::session::HistorySession;
use crate::tail::Tail;

/// Adds the totals, and the settings of the last turn.
pub(super) fn describe(tail: &Tail, session: &mut HistorySession) {
    let mut has_mode = false;
    for line in tail.lines() {
        let Ok(line) = Line::parse(line) else { continue };
        match line.kind() {
            LineKind::CostState if session.usage.is_none() => {
                let totals = UsageCounter::default().add_totals(line.model_usage).into_usage();
                session.usage = totals.into_iter().reduce(|mut sum, usage| {
                    sum += usage;
                    sum
                });
            }
            LineKind::User if !has_mode => {
                if let Some(mode) = text(line.permission_mode) {
                    session.permission_mode = Some(mode_name(&mode).to_owned());
                    has_mode = true;
                }
            }
            _ => {}
        }
    }
}
