//! What is no part of a conversation but worth a remark, and the events of older versions.

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

use super::requests::{Reply, Request};
use super::{HERE, OpenCodeConverter, STATE_ECHO, incomplete};
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
    let words: Vec<String> = [title, message].into_iter().flatten().collect();
    notice(words.join(": "), out);
}

pub(super) fn browser_open_failed(properties: Option<EventMcpBrowserOpenFailedProperties>, out: &mut Drafts) {
    let EventMcpBrowserOpenFailedProperties { mcp_name, url } = properties.unwrap_or_default();
    let (name, url) = (mcp_name.unwrap_or_default(), url.unwrap_or_default());
    notice(format!("MCP server {name} wants a browser, which did not open: {url}"), out);
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
    let EventWorkspaceStatusProperties { status, workspace_id } = properties.unwrap_or_default();
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
    let EventWorktreeReadyProperties { name, branch } = properties.unwrap_or_default();
    notice(format!("worktree {} is ready on branch {}", name.unwrap_or_default(), branch.unwrap_or_default()), out);
}

pub(super) fn worktree_failed(properties: Option<EventWorktreeFailedProperties>, out: &mut Drafts) {
    let message = properties.and_then(|properties| properties.message).unwrap_or_default();
    notice(format!("worktree failed: {message}"), out);
}

/// The server let go of a directory, or of all: what ran there is over.
pub(super) fn disposed(directory: Option<String>, out: &mut Drafts) {
    notice(
        directory
            .map_or_else(|| "the server let go of everything".to_owned(), |it| format!("the server let go of {it}")),
        out,
    );
}

impl OpenCodeConverter {
    /// The plan, whole, each time it is another one.
    pub(super) fn todo_updated(&mut self, properties: Option<EventTodoUpdatedProperties>, out: &mut Drafts) {
        let Some(EventTodoUpdatedProperties { session_id: Some(id), todos }) = properties else {
            return incomplete("todo.updated", out);
        };
        let steps: Vec<PlanStep> = todos.into_iter().flatten().map(step).collect();
        let session = self.sessions.of(&id);
        session.begun = true;
        if !session.plan.update(&steps) {
            return out.dropped(UNCHANGED_PLAN);
        }
        out.session(&id).note(Note::plan(steps));
    }

    pub(super) fn command_executed(&mut self, properties: Option<EventCommandExecutedProperties>, out: &mut Drafts) {
        let Some(EventCommandExecutedProperties { session_id: Some(id), name, arguments, .. }) = properties else {
            return incomplete("command.executed", out);
        };
        let command = [name.unwrap_or_default(), arguments.unwrap_or_default()].join(" ");
        self.sessions.of(&id).begun = true;
        let detail = format!("command /{} was run", command.trim());
        out.session(&id).note(Note::notice(detail));
    }

    /// Types that the current schema no longer has.
    pub(super) fn older_event(&mut self, tag: &str, raw: &Json, out: &mut Drafts) {
        match tag {
            "lsp.client.diagnostics" | "ide.installed" | "file.watcher.created" | "storage.write" => {
                out.dropped(STATE_ECHO);
            }
            "permission.updated" => match raw.decode::<OldPermission>() {
                Ok(OldPermission { properties }) => self.old_permission(properties, out),
                Err(_) => incomplete(tag, out),
            },
            _ => out.current_session().unparsed(HERE, "unknown type", Some(tag.to_owned())),
        }
    }

    /// A permission as it was asked for in 1.0, which always offers to allow the like while the server runs.
    fn old_permission(&mut self, asked: OldRequest, out: &mut Drafts) {
        let patterns = asked.pattern.map(OldPattern::list).unwrap_or_default();
        let request = Request {
            id: asked.id,
            session: asked.session,
            always: if patterns.is_empty() { vec![asked.kind.clone()] } else { patterns.clone() },
            permission: asked.kind,
            patterns,
            call: asked.call,
            message: asked.message,
            title: asked.title,
            metadata: asked.metadata,
        };
        self.permission_needed(request, ApprovalScope::Session, out);
    }

    /// The answer as it was told in 1.0, where the current names are missing.
    pub(super) fn old_permission_replied(&mut self, text: &str, out: &mut Drafts) -> bool {
        #[derive(Deserialize)]
        struct Event {
            properties: Answered,
        }
        #[derive(Deserialize)]
        struct Answered {
            #[serde(rename = "permissionID")]
            request: String,
            response: Option<String>,
        }
        let Ok(Event { properties }) = serde_json::from_str::<Event>(text) else {
            return false;
        };
        self.permission_answered(None, &properties.request, Reply::of(properties.response.as_deref()), out);
        true
    }
}

#[derive(Deserialize)]
struct OldPermission {
    properties: OldRequest,
}

#[derive(Deserialize)]
struct OldRequest {
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
    pattern: Option<OldPattern>,
    metadata: Option<Json>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OldPattern {
    One(String),
    Several(Vec<String>),
}

impl OldPattern {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(pattern) => vec![pattern],
            Self::Several(patterns) => patterns,
        }
    }
}

fn step(todo: Todo) -> PlanStep {
    plan_step(todo.content.unwrap_or_default(), todo.status.as_deref())
}
