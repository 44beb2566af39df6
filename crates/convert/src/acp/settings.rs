//! Mode, model and other options of a session, and their changes.

use std::collections::BTreeMap;

use interlingua_native::acp::{SessionConfigOption, SessionConfigOptionCategory, SessionModeState, SessionModelState};
use interlingua_schema::{NativeMetadata, SessionMetadata};
use serde_json::{Map, Value};

use super::AcpConverter;
use crate::drop_reason::STATE_ECHO;
use crate::{Drafts, Note, SessionDrafts};

/// Settings of a session as last reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    mode: Option<String>,
    model: Option<String>,
    /// Name and value of the other options, by id.
    options: BTreeMap<String, (String, String)>,
}

/// The settings in a response that opens a session.
#[derive(Debug, Default)]
pub(super) struct SessionSettings {
    mode: Option<String>,
    model: Option<String>,
    options: Vec<SessionConfigOption>,
}

impl SessionSettings {
    pub(super) fn new(
        permission: Option<SessionModeState>,
        model: Option<SessionModelState>,
        options: Option<Vec<SessionConfigOption>>,
    ) -> Self {
        Self {
            mode: permission.and_then(|state| state.current_mode_id),
            model: model.and_then(|state| state.current_model_id),
            options: options.unwrap_or_default(),
        }
    }
}

/// An option with its current value as text.
struct OptionValue<'a> {
    id: &'a str,
    name: &'a str,
    category: Option<&'a SessionConfigOptionCategory>,
    value: String,
}

fn option_value(option: &SessionConfigOption) -> Option<OptionValue<'_>> {
    let (id, name, category, value) = match option {
        SessionConfigOption::Select(option) => {
            (&option.id, &option.name, option.category.as_ref(), option.current_value.clone()?)
        }
        SessionConfigOption::Boolean(option) => {
            let value = if option.current_value? { "on" } else { "off" };
            (&option.id, &option.name, option.category.as_ref(), value.to_owned())
        }
        SessionConfigOption::Unknown { .. } => return None,
    };
    let id = id.as_deref()?;
    Some(OptionValue { id, name: name.as_deref().unwrap_or(id), category, value })
}

impl Settings {
    /// Takes over options. `None` for `drafts` does not report what changed.
    fn update(&mut self, options: &[SessionConfigOption], mut drafts: Option<&mut SessionDrafts<'_>>) {
        for OptionValue { id, name, category, value } in options.iter().filter_map(option_value) {
            match category {
                Some(SessionConfigOptionCategory::Mode) => self.set_mode(value, drafts.as_deref_mut()),
                Some(SessionConfigOptionCategory::Model) => self.set_model(value, drafts.as_deref_mut()),
                _ => {
                    let before = self.options.insert(id.to_owned(), (name.to_owned(), value.clone()));
                    let before = before.map(|(_, value)| value);
                    if let (Some(drafts), true) = (&mut drafts, before.as_ref() != Some(&value)) {
                        let from = before.map(|before| format!(" from {before}")).unwrap_or_default();
                        drafts.note(Note::notice(format!("{name} changed{from} to {value}")));
                    }
                }
            }
        }
    }

    fn set_mode(&mut self, mode: String, drafts: Option<&mut SessionDrafts<'_>>) {
        let before = self.mode.replace(mode.clone());
        if let (Some(drafts), true) = (drafts, before.as_ref() != Some(&mode)) {
            drafts.note(Note::mode_changed(before, mode));
        }
    }

    fn set_model(&mut self, model: String, drafts: Option<&mut SessionDrafts<'_>>) {
        let before = self.model.replace(model.clone());
        if let (Some(drafts), true) = (drafts, before.as_ref() != Some(&model)) {
            drafts.note(Note::model_changed(before, model));
        }
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn describe(&self, metadata: &mut SessionMetadata) {
        metadata.model.clone_from(&self.model);
        metadata.agent_mode.clone_from(&self.mode);
        let options: Map<String, Value> =
            self.options.iter().map(|(id, (_, value))| (id.clone(), value.as_str().into())).collect();
        let options =
            Some(Value::Object(options)).filter(|options| options.as_object().is_some_and(|map| !map.is_empty()));
        let native = NativeMetadata::new().with("options", options.map(interlingua_schema::MetadataValue::Json));
        metadata.native = native.non_empty();
    }
}

impl AcpConverter {
    /// A session was created, loaded or resumed.
    pub(super) fn session_opened(
        &mut self,
        id: &str,
        cwd: Option<String>,
        settings: &SessionSettings,
        out: &mut Drafts,
    ) {
        let mut metadata = self.metadata(cwd);
        if let Some(name) = &self.implementation.name {
            let name = NativeMetadata::new().with("implementation", Some(name.clone()));
            metadata.native = name.non_empty();
        }
        let session = self.session(id);
        session.is_announced = true;
        let state = &mut session.settings;
        if let Some(mode) = &settings.mode {
            state.set_mode(mode.clone(), None);
        }
        if let Some(model) = &settings.model {
            state.set_model(model.clone(), None);
        }
        state.update(&settings.options, None);
        let name = metadata.native.take();
        state.describe(&mut metadata);
        metadata.native = match (name, metadata.native.take()) {
            (Some(name), Some(options)) => Some(name.merge(options)),
            (name, options) => name.or(options),
        };
        // If an update came first, the start of the session is in the stream already.
        out.session(id).started(metadata);
    }

    pub(super) fn handle_mode(&mut self, id: &str, mode: Option<String>, out: &mut Drafts) {
        let Some(mode) = mode.filter(|mode| !mode.is_empty()) else { return out.dropped(STATE_ECHO) };
        self.change_settings(id, out, |settings, drafts| settings.set_mode(mode, drafts));
    }

    pub(super) fn handle_model(&mut self, id: &str, model: String, out: &mut Drafts) {
        self.change_settings(id, out, |settings, drafts| settings.set_model(model, drafts));
    }

    pub(super) fn handle_config_options(&mut self, id: &str, options: &[SessionConfigOption], out: &mut Drafts) {
        self.change_settings(id, out, |settings, drafts| settings.update(options, drafts));
    }

    /// Changes the settings of a session. Before its start is reported, a change is part of its description.
    fn change_settings(
        &mut self,
        id: &str,
        out: &mut Drafts,
        change: impl FnOnce(&mut Settings, Option<&mut SessionDrafts<'_>>),
    ) {
        let session = self.session(id);
        if session.is_announced {
            change(&mut session.settings, Some(&mut out.session(id)));
        } else {
            change(&mut session.settings, None);
        }
        if !out.has_input_drafts() {
            out.dropped(STATE_ECHO);
        }
    }
}
