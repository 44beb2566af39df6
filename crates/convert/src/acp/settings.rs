//! Mode, model and other options of a session, and their changes.

use std::collections::BTreeMap;

use interlingua_agents::{AcpDialect, AcpProfile, PermissionModes};
use interlingua_native::acp::{SessionConfigOption, SessionConfigOptionCategory, SessionModeState, SessionModelState};
use interlingua_schema::{SessionMetadata, TurnMetadata};
use serde_json::{Map, Value};

use super::AcpConverter;
use crate::drop_reason::STATE_ECHO;
use crate::{Drafts, Note, SessionDrafts};

/// Option with the agent's mode in Codex, whose modes are permission modes.
const COLLABORATION_MODE: &str = "collaboration_mode";
/// Names of modes that agents use for the permission modes.
const MODE_NAMES: [(&str, &[&str]); 4] = [
    ("default", &["default", "ask", "manual"]),
    ("plan", &["plan", "architect"]),
    ("acceptEdits", &["acceptedits", "autoedit"]),
    ("bypass", &["bypass", "bypasspermissions", "yolo", "fullaccess"]),
];

/// Settings of a session as last reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    mode: Option<String>,
    model: Option<String>,
    /// The model is an option. Then the older state of the models, which may name it differently, does not count.
    has_model_option: bool,
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
    fn update(
        &mut self,
        options: &[SessionConfigOption],
        names: ModeNames,
        mut drafts: Option<&mut SessionDrafts<'_>>,
    ) {
        for OptionValue { id, name, category, value } in options.iter().filter_map(option_value) {
            match category {
                Some(SessionConfigOptionCategory::Mode) => self.set_mode(&value, names, drafts.as_deref_mut()),
                Some(SessionConfigOptionCategory::Model) => {
                    self.set_model(value, drafts.as_deref_mut().filter(|_| self.has_model_option));
                    self.has_model_option = true;
                }
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

    fn set_mode(&mut self, mode: &str, names: ModeNames, drafts: Option<&mut SessionDrafts<'_>>) {
        let before = self.mode.replace(mode.to_owned());
        if let (Some(drafts), true) = (drafts, before.as_deref() != Some(mode)) {
            let before = before.map(|before| names.universal(&before).map_or(before, str::to_owned));
            drafts.note(Note::mode_changed(before, names.universal(mode).unwrap_or(mode)));
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

    /// The mode as the agent's own mode or as a permission mode, and the agent's own mode of Codex.
    fn modes(&self, names: ModeNames) -> (Option<String>, Option<String>) {
        let collaboration = self.options.get(COLLABORATION_MODE).map(|(_, mode)| mode.clone());
        let Some(mode) = &self.mode else { return (collaboration, None) };
        match names.universal(mode) {
            Some(name) => (collaboration, Some(name.to_owned())),
            None if names.are_permission_modes() => (collaboration, Some(mode.clone())),
            None => (Some(mode.clone()), None),
        }
    }

    fn describe(&self, names: ModeNames, metadata: &mut SessionMetadata) {
        metadata.model.clone_from(&self.model);
        (metadata.agent_mode, metadata.permission_mode) = self.modes(names);
        let options: Map<String, Value> =
            self.options.iter().map(|(id, (_, value))| (id.clone(), value.as_str().into())).collect();
        if !options.is_empty() {
            let options = interlingua_schema::MetadataValue::Json(Value::Object(options));
            let native = metadata.native.take().unwrap_or_default().with("options", Some(options));
            metadata.native = Some(native);
        }
    }
}

/// The names of the modes of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeNames {
    dialect: AcpDialect,
    profile: Option<&'static AcpProfile>,
}

impl ModeNames {
    /// The permission mode that a mode stands for.
    fn universal(self, mode: &str) -> Option<&'static str> {
        // The modes of OpenCode are its agents: one of them plans.
        if self.dialect == AcpDialect::OpenCode {
            return None;
        }
        let known = self.profile.map(|profile| profile.permission_modes);
        if let Some(modes) = known.filter(|modes| *modes != PermissionModes::default()) {
            return modes.universal_name(mode);
        }
        // A mode may be named by the URL of its definition.
        let name = mode.rsplit('#').next().unwrap_or(mode);
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        MODE_NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(universal, _)| *universal)
    }

    /// Whether all modes of the agent say what it may do.
    fn are_permission_modes(self) -> bool {
        !matches!(self.dialect, AcpDialect::Standard | AcpDialect::OpenCode)
    }
}

impl AcpConverter {
    fn mode_names(&self) -> ModeNames {
        ModeNames { dialect: self.dialect, profile: self.profile }
    }

    /// A session was created, loaded or resumed.
    pub(super) fn session_opened(
        &mut self,
        id: &str,
        cwd: Option<String>,
        settings: &SessionSettings,
        out: &mut Drafts,
    ) {
        let names = self.mode_names();
        let mut metadata = self.metadata(cwd);
        let session = self.session(id);
        // If an update came first, the start of the session is in the stream already, and the next turn describes it.
        session.is_described = !session.is_announced;
        session.is_announced = true;
        let state = &mut session.settings;
        if let Some(mode) = &settings.mode {
            state.set_mode(mode, names, None);
        }
        if let Some(model) = &settings.model {
            state.set_model(model.clone(), None);
        }
        state.update(&settings.options, names, None);
        state.describe(names, &mut metadata);
        out.session(id).started(metadata);
    }

    /// What the start of a turn says about the session: the model, and everything that no event says yet.
    pub(super) fn turn_metadata(&mut self, id: &str) -> TurnMetadata {
        let names = self.mode_names();
        let session = self.session(id);
        let mut metadata = TurnMetadata::default();
        if !std::mem::replace(&mut session.is_described, true) {
            let mut described = SessionMetadata::default();
            session.settings.describe(names, &mut described);
            metadata = metadata.with_defaults(described);
        }
        metadata.model = session.settings.model().map(str::to_owned);
        metadata
    }

    pub(super) fn handle_mode(&mut self, id: &str, mode: Option<String>, out: &mut Drafts) {
        let Some(mode) = mode.filter(|mode| !mode.is_empty()) else { return out.dropped(STATE_ECHO) };
        let names = self.mode_names();
        self.change_settings(id, out, |settings, drafts| settings.set_mode(&mode, names, drafts));
    }

    pub(super) fn handle_model(&mut self, id: &str, model: String, out: &mut Drafts) {
        self.change_settings(id, out, |settings, drafts| {
            if !settings.has_model_option {
                settings.set_model(model, drafts);
            }
        });
    }

    pub(super) fn handle_config_options(&mut self, id: &str, options: &[SessionConfigOption], out: &mut Drafts) {
        let names = self.mode_names();
        self.change_settings(id, out, |settings, drafts| settings.update(options, names, drafts));
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
