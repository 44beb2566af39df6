//! Checking a session against the lifecycle rules.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use interlingua_runtime::run_cpu_bound;
use interlingua_schema::{Checker, Violation};
use interlingua_store::{RawPayloads, ReadLimits};
use serde::{Deserialize, Serialize};
use tokio::task::yield_now;
use utoipa::ToSchema;

use crate::app::App;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::NoQuery;

/// What is checked at once, before other requests get their turn.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 512, max_bytes: 256 * 1024 };

/// Maximum number of violations that are listed.
const MAX_LISTED_VIOLATIONS: usize = 1000;

/// The verdict of the checker about a session.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckReport {
    /// Whether the session follows all rules.
    valid: bool,
    /// Number of events that were checked.
    events: u64,
    /// Number of events by type; one that could not be read counts as none.
    types: BTreeMap<String, u64>,
    /// Number of violations.
    violation_count: u64,
    /// The violations, at most 1000.
    violations: Vec<RuleViolation>,
}

/// A breach of a rule.
#[derive(Serialize, ToSchema)]
#[schema(as = Violation)]
pub(crate) struct RuleViolation {
    /// The rule, `L1` to `L18`; null if the event could not be read.
    #[schema(required = true, example = "L5")]
    rule: Option<String>,
    /// Sequence of the event that breaks the rule.
    sequence: u64,
    /// What was expected and what was found.
    message: String,
}

impl From<Violation> for RuleViolation {
    fn from(violation: Violation) -> Self {
        Self { rule: Some(violation.rule.to_string()), sequence: violation.sequence, message: violation.message }
    }
}

/// The type of an event.
#[derive(Deserialize)]
struct EventType<'a> {
    #[serde(borrow, rename = "type")]
    name: Cow<'a, str>,
}

impl CheckReport {
    fn count_type(&mut self, json: &str) {
        let Ok(EventType { name }) = serde_json::from_str(json) else { return };
        if let Some(count) = self.types.get_mut(name.as_ref()) {
            *count += 1;
        } else {
            self.types.insert(name.into_owned(), 1);
        }
    }

    fn add(&mut self, violation: RuleViolation) {
        self.violation_count += 1;
        if self.violations.len() < MAX_LISTED_VIOLATIONS {
            self.violations.push(violation);
        }
    }
}

/// Checks the events of a session against the lifecycle rules L1 to L18.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/check",
    tag = "events",
    operation_id = "checkSession",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 200, description = "The verdict, whether the session follows the rules or not", body = CheckReport))
)]
pub(crate) async fn check(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    _: NoQuery,
) -> Result<Json<CheckReport>, Problem> {
    let session = app.session(&id).await?;
    let mut checker = Checker::new();
    let mut report = CheckReport::default();
    while report.events < session.event_count {
        let batch = app.store().read(session.key, report.events, READ_LIMITS, RawPayloads::Omit).await?;
        run_cpu_bound(batch.byte_len(), || {
            for (sequence, json) in batch.iter() {
                report.count_type(json);
                match checker.push_line(json) {
                    Ok(violations) => violations.into_iter().for_each(|violation| report.add(violation.into())),
                    Err(error) => report.add(RuleViolation { rule: None, sequence, message: error.to_string() }),
                }
            }
        });
        report.events += batch.len() as u64;
        if batch.is_empty() {
            break;
        }
        yield_now().await;
    }
    report.valid = report.violation_count == 0;
    Ok(Json(report))
}
