//! The start of a thread, and the settings of its turns.

use interlingua_convert::Note;
use interlingua_schema::{NativeMetadata, SessionMetadata};
use serde_json::{Map, json};

use super::home::ThreadRole;
use super::line::Payload;
use super::scan::Settings;
use super::translate::{Context, Thread};
use crate::json::text;
use crate::output::Output;
use crate::session::{HistoryFormat, add_history_metadata};

impl Thread {
    /// Starts the session, or the sub-agent's thread.
    pub(super) fn session_meta(&mut self, context: &Context<'_>, out: &mut Output<'_>) {
        if std::mem::replace(&mut self.is_started, true) {
            return out.drop_record("repeated description of the thread");
        }
        if !self.is_shown() {
            return out.drop_record("start of a thread that is shown in another one");
        }
        let (rollout, scan) = (&self.info.rollout, &self.info.scan);
        self.settings = Settings {
            model: scan.model.clone(),
            approval_policy: scan.approval_policy.clone(),
            sandbox: scan.sandbox.clone(),
            effort: scan.effort.clone(),
            mode: scan.mode.clone(),
        };
        let mut thread = Map::new();
        thread.insert("id".to_owned(), json!(rollout.thread_id));
        thread.insert("cwd".to_owned(), json!(rollout.cwd));
        thread.insert("cliVersion".to_owned(), json!(rollout.version));
        thread.insert("model".to_owned(), json!(scan.model));
        if let Some(ThreadRole::SubAgent(parent)) = &self.info.role {
            thread.insert("parentThreadId".to_owned(), json!(parent));
        }
        // A fork of a session starts its usage where its parent's was.
        if rollout.forked_from.is_some() {
            thread.insert("forkedFromId".to_owned(), json!(rollout.forked_from));
        }
        if self.info.role.is_none() {
            let mut metadata = SessionMetadata::default();
            metadata.agent_version.clone_from(&rollout.version);
            metadata.cwd.clone_from(&rollout.cwd);
            metadata.model.clone_from(&scan.model);
            metadata.agent_mode.clone_from(&scan.mode);
            metadata.permission_mode = permission_mode(&self.settings);
            metadata.forked_from.clone_from(&rollout.forked_from);
            let native = NativeMetadata::new()
                .with("approval_policy", scan.approval_policy.clone())
                .with("model_provider", rollout.model_provider.clone())
                .with("name", rollout.name.clone())
                .with("sandbox", scan.sandbox.clone());
            metadata.native = native.non_empty();
            add_history_metadata(&mut metadata, HistoryFormat::CodexRollout);
            out.infer(|drafts| drafts.session(&rollout.thread_id).started(metadata));
        }
        self.send("thread/started", json!({ "thread": thread }), context.json, out);
    }

    /// The settings of a turn. Changes are reported when the turn starts.
    pub(super) fn turn_context(&mut self, payload: &Payload<'_>, out: &mut Output<'_>) {
        let settings = Settings::from_context(payload);
        if let Some(cwd) = text(payload.cwd) {
            self.cwd = Some(cwd.into_owned());
        }
        if self.info.role.is_none() && self.is_started {
            let thread_id = self.shown_in.clone();
            if let (Some(before), Some(model)) = (&self.settings.model, &settings.model)
                && before != model
            {
                let note = Note::model_changed(Some(before.clone()), model.clone());
                out.infer(|drafts| drafts.session(&thread_id).note(note));
            }
            let (before, mode) = (permission_mode(&self.settings), permission_mode(&settings));
            if let Some(mode) = mode.filter(|mode| before.is_some() && before.as_ref() != Some(mode)) {
                let note = Note::mode_changed(before, mode);
                out.infer(|drafts| drafts.session(&thread_id).note(note));
            }
            self.settings = settings;
        }
        out.drop_record("settings of the turn; changes are reported");
    }
}

/// The universal permission mode of the settings.
pub(super) fn permission_mode(settings: &Settings) -> Option<String> {
    match (settings.mode.as_deref(), settings.approval_policy.as_deref(), settings.sandbox.as_deref()) {
        (Some(mode), ..) if mode != "default" => Some(mode.to_owned()),
        (_, Some("on-request" | "untrusted"), _) => Some("default".to_owned()),
        (_, Some("never"), Some("dangerFullAccess")) => Some("bypass".to_owned()),
        (_, Some(approval), _) => Some(approval.to_owned()),
        (mode, None, _) => mode.map(str::to_owned),
    }
}
