//! Notices about the server, plans, and events of older versions.

use interlingua_native::Json;
use interlingua_native::opencode::{
    EventCommandExecutedProperties, EventInstallationUpdateAvailableProperties, EventInstallationUpdatedProperties,
    EventMcpBrowserOpenFailedProperties, EventTodoUpdatedProperties, EventTuiToastShowProperties,
    EventVcsBranchUpdatedProperties, EventWorkspaceFailedProperties, EventWorkspaceReadyProperties,
    EventWorkspaceStatusProperties, EventWorkspaceStatusPropertiesStatus, EventWorktreeFailedProperties,
    EventWorktreeReadyProperties, Todo,
};
use interlingua_schema::{ApprovalScope, PlanStep};
use serde::Deserialize;

use super::requests::{PermissionRequest, Reply};
use super::{LOCATION, OpenCodeConverter, STATE_ECHO, report_incomplete};
use crate::draft::{UNCHANGED_PLAN, plan_step};
use crate::{Drafts, Note};

fn notice(detail: String, out: &mut Drafts) {
    out.current_session().note(Note::notice(detail));
}

pub(super) fn installation_updated(properties: Option<EventInstallationUpdatedProperties>, out: &mut Drafts) {
    let version = properties.and_then(|properties| properties.version).unwrap_or_default();
    notice(format!("OpenCode was updated to {version}"), out);
}

pub(super) fn update_available(properties: Option<EventInstallationUpdateAvailableProperties>, out: &mut Drafts) {
    let version = properties.and_then(|properties| properties.version).unwrap_or_default();
    notice(format!("OpenCode {version} is available"), out);
}

pub(super) fn toast(properties: Option<EventTuiToastShowProperties>, out: &mut Drafts) {
    let EventTuiToastShowProperties { title, message, .. } = properties.unwrap_or_default();
    let texts: Vec<String> = [title, message].into_iter().flatten().collect();
    notice(texts.join(": "), out);
}

pub(super) fn browser_open_failed(properties: Option<EventMcpBrowserOpenFailedProperties>, out: &mut Drafts) {
    let EventMcpBrowserOpenFailedProperties { mcp_name, url, .. } = properties.unwrap_or_default();
    let (name, url) = (mcp_name.unwrap_or_default(), url.unwrap_or_default());
    notice(format!("MCP server {name}: the browser did not open for {url}"), out);
}

pub(super) fn branch_updated(properties: Option<EventVcsBranchUpdatedProperties>, out: &mut Drafts) {
    let branch = properties.and_then(|properties| properties.branch);
    notice(branch.map_or_else(|| "no branch".to_owned(), |branch| format!("branch: {branch}")), out);
}

pub(super) fn workspace_ready(properties: Option<EventWorkspaceReadyProperties>, out: &mut Drafts) {
    let name = properties.and_then(|properties| properties.name).unwrap_or_default();
    notice(format!("workspace {name} is ready"), out);
}

pub(super) fn workspace_failed(properties: Option<EventWorkspaceFailedProperties>, out: &mut Drafts) {
    let message = properties.and_then(|properties| properties.message).unwrap_or_default();
    notice(format!("workspace failed: {message}"), out);
}

pub(super) fn workspace_status(properties: Option<EventWorkspaceStatusProperties>, out: &mut Drafts) {
    let EventWorkspaceStatusProperties { status, workspace_id, .. } = properties.unwrap_or_default();
    let workspace = workspace_id.unwrap_or_default();
    match status {
        Some(EventWorkspaceStatusPropertiesStatus::Error) => notice(format!("workspace {workspace}: error"), out),
        Some(EventWorkspaceStatusPropertiesStatus::Disconnected) => {
            notice(format!("workspace {workspace}: disconnected"), out);
        }
        _ => out.dropped(STATE_ECHO),
    }
}

pub(super) fn worktree_ready(properties: Option<EventWorktreeReadyProperties>, out: &mut Drafts) {
    let EventWorktreeReadyProperties { name, branch, .. } = properties.unwrap_or_default();
    notice(format!("worktree {} is ready on branch {}", name.unwrap_or_default(), branch.unwrap_or_default()), out);
}

pub(super) fn worktree_failed(properties: Option<EventWorktreeFailedProperties>, out: &mut Drafts) {
    let message = properties.and_then(|properties| properties.message).unwrap_or_default();
    notice(format!("worktree failed: {message}"), out);
}

/// The server has disposed of a directory, or of all. What ran there has ended.
pub(super) fn disposed(directory: Option<String>, out: &mut Drafts) {
    notice(
        directory
            .map_or_else(|| "the server let go of everything".to_owned(), |it| format!("the server let go of {it}")),
        out,
    );
}

impl OpenCodeConverter {
    /// Drafts the plan if it has changed.
    pub(super) fn todo_updated(&mut self, properties: Option<EventTodoUpdatedProperties>, out: &mut Drafts) {
        let Some(EventTodoUpdatedProperties { session_id: Some(id), todos, .. }) = properties else {
            return report_incomplete("todo.updated", out);
        };
        let steps: Vec<PlanStep> = todos.into_iter().flatten().map(convert_step).collect();
        let session = self.sessions.get_or_insert(&id);
        session.is_started = true;
        if !session.last_plan.update(&steps) {
            return out.dropped(UNCHANGED_PLAN);
        }
        out.session(&id).note(Note::plan(steps));
    }

    pub(super) fn command_executed(&mut self, properties: Option<EventCommandExecutedProperties>, out: &mut Drafts) {
        let Some(EventCommandExecutedProperties { session_id: Some(id), name, arguments, .. }) = properties else {
            return report_incomplete("command.executed", out);
        };
        let command = [name.unwrap_or_default(), arguments.unwrap_or_default()].join(" ");
        self.sessions.get_or_insert(&id).is_started = true;
        let detail = format!("command /{} was run", command.trim());
        out.session(&id).note(Note::notice(detail));
    }

    /// Converts an event whose type the current schema no longer has.
    pub(super) fn legacy_event(&mut self, tag: &str, raw: &Json, out: &mut Drafts) {
        match tag {
            "lsp.client.diagnostics" | "ide.installed" | "file.watcher.created" | "storage.write" => {
                out.dropped(STATE_ECHO);
            }
            "permission.updated" => match raw.decode::<LegacyPermissionEvent>() {
                Ok(LegacyPermissionEvent { properties }) => self.legacy_permission(properties, out),
                Err(_) => report_incomplete(tag, out),
            },
            _ => out.current_session().unparsed(LOCATION, "unknown type", Some(tag.to_owned())),
        }
    }

    /// Permission request of 1.0. It always offers to allow the same for as long as the server runs.
    fn legacy_permission(&mut self, permission: LegacyPermission, out: &mut Drafts) {
        let patterns = permission.pattern.map(LegacyPatterns::into_list).unwrap_or_default();
        let request = PermissionRequest {
            id: permission.id,
            session: permission.session,
            always: if patterns.is_empty() { vec![permission.kind.clone()] } else { patterns.clone() },
            permission: permission.kind,
            patterns,
            call: permission.call,
            message: permission.message,
            title: permission.title,
            metadata: permission.metadata,
        };
        self.request_permission(request, ApprovalScope::Session, out);
    }

    /// Permission reply of 1.0. Returns false if the event does not have its fields.
    pub(super) fn legacy_permission_replied(&mut self, text: &str, out: &mut Drafts) -> bool {
        #[derive(Deserialize)]
        struct Event {
            properties: Properties,
        }
        #[derive(Deserialize)]
        struct Properties {
            #[serde(rename = "permissionID")]
            request: String,
            response: Option<String>,
        }
        let Ok(Event { properties }) = serde_json::from_str::<Event>(text) else {
            return false;
        };
        self.permission_answered(None, &properties.request, Reply::parse(properties.response.as_deref()), out);
        true
    }
}

#[derive(Deserialize)]
struct LegacyPermissionEvent {
    properties: LegacyPermission,
}

#[derive(Deserialize)]
struct LegacyPermission {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "sessionID")]
    session: String,
    #[serde(rename = "messageID")]
    message: Option<String>,
    #[serde(rename = "callID")]
    call: Option<String>,
    title: Option<String>,
    pattern: Option<LegacyPatterns>,
    metadata: Option<Json>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LegacyPatterns {
    One(String),
    Several(Vec<String>),
}

impl LegacyPatterns {
    fn into_list(self) -> Vec<String> {
        match self {
            Self::One(pattern) => vec![pattern],
            Self::Several(patterns) => patterns,
        }
    }
}

fn convert_step(todo: Todo) -> PlanStep {
    plan_step(todo.content.unwrap_or_default(), todo.status.as_deref())
}
