//! What of a stream is compared, one line for each piece of data.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_schema::{
    ContentPart, EventData, Item, ItemEvent, ItemId, ItemKind, ItemStatus, Role, StatusData, StatusLabel,
    UniversalEvent,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::exceptions::OPTIONAL_KEYS;

/// Declares the aspects, each with its title in the table.
macro_rules! aspects {
    ($(#[doc = $meaning:literal] $aspect:ident = $title:literal;)+) => {
        /// A kind of data that is compared.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Aspect {
            $(#[doc = $meaning] $aspect,)+
        }

        impl Aspect {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$aspect,)+];

            /// The name for a person.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$aspect => $title,)+
                }
            }
        }
    };
}

aspects! {
    /// Turns, items, requests and errors in order, with kinds, roles and outcomes.
    Sequence = "item sequence";
    /// What is said.
    Texts = "texts";
    /// The titles of tool calls.
    Titles = "tool titles";
    /// The inputs of tool calls.
    Inputs = "tool inputs";
    /// Outputs and exit codes of tools.
    Outputs = "tool outputs";
    /// Files that were read or changed, with their diffs.
    Files = "files and diffs";
    /// What permissions are asked for, and how they may be given.
    Permissions = "permissions";
    /// Questions with their metadata.
    Questions = "questions";
    /// Status items with their data.
    Statuses = "status items";
    /// Codes and details of errors.
    Errors = "errors";
    /// How turns begin and end.
    Turns = "turns";
    /// What is known of the session.
    Sessions = "sessions";
}

/// The keys of tool inputs and status data that are not compared, as far as a stream has them.
#[must_use]
pub fn optional_keys(events: &[UniversalEvent]) -> BTreeSet<&'static str> {
    fn find(value: &Value, found: &mut BTreeSet<&'static str>) {
        match value {
            Value::Object(fields) => {
                let named = OPTIONAL_KEYS.iter().filter(|optional| fields.contains_key(optional.key));
                found.extend(named.map(|optional| optional.key));
                fields.values().for_each(|value| find(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| find(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for event in events {
        let EventData::ItemCompleted(ItemEvent { item, .. }) = &event.data else { continue };
        for part in &item.content {
            match part {
                ContentPart::ToolCall { input: Some(input), .. } => {
                    find(&serde_json::to_value(input).unwrap_or_default(), &mut found);
                }
                ContentPart::Json { json } if item.kind == ItemKind::Status => find(json, &mut found),
                _ => {}
            }
        }
    }
    found
}

/// The lines of each aspect. Several sessions of a recording follow each other.
#[must_use]
pub fn lines(events: &[UniversalEvent]) -> BTreeMap<Aspect, Vec<String>> {
    let mut sessions: Vec<(&str, Lines)> = Vec::new();
    for event in events {
        let session = event.session_id.as_str();
        let index = sessions.iter().position(|(known, _)| *known == session).unwrap_or_else(|| {
            sessions.push((session, Lines::default()));
            sessions.len() - 1
        });
        if let Some((_, lines)) = sessions.get_mut(index) {
            lines.push(&event.data);
        }
    }
    let mut all: BTreeMap<Aspect, Vec<String>> = BTreeMap::new();
    for (_, lines) in sessions {
        let Lines { of, mut texts, .. } = lines;
        for (aspect, lines) in of {
            all.entry(aspect).or_default().extend(lines);
        }
        texts.sort_by_key(|(place, _)| *place);
        all.entry(Aspect::Texts).or_default().extend(texts.into_iter().map(|(_, text)| text));
    }
    all
}

#[derive(Default)]
struct Lines {
    of: BTreeMap<Aspect, Vec<String>>,
    /// The line of each open item in the sequence: an item stands where it began, whenever it ends.
    open: BTreeMap<ItemId, usize>,
    /// Tool calls: what has one as its parent is a sub-agent's.
    calls: Vec<ItemId>,
    /// What is said, with the place in the sequence of the item that says it.
    texts: Vec<(usize, String)>,
}

impl Lines {
    fn add(&mut self, aspect: Aspect, line: impl Into<String>) {
        self.of.entry(aspect).or_default().push(line.into());
    }

    fn add_json(&mut self, aspect: Aspect, json: &impl Serialize) {
        let line = serde_json::to_string(json).unwrap_or_default();
        self.add(aspect, line);
    }

    fn push(&mut self, data: &EventData) {
        match data {
            EventData::SessionStarted(started) => {
                let metadata = started.metadata.clone().unwrap_or_default();
                self.add_json(
                    Aspect::Sessions,
                    &json!({
                        "cwd": metadata.cwd, "permission_mode": metadata.permission_mode,
                        "has_agent": !metadata.agent.is_empty(), "has_agent_version": metadata.agent_version.is_some(),
                    }),
                );
            }
            EventData::TurnStarted(started) => {
                self.add(Aspect::Sequence, "turn.started");
                self.add_json(Aspect::Turns, &json!({ "has_id": !started.turn_id.is_empty() }));
            }
            EventData::TurnEnded(ended) => {
                self.add(Aspect::Sequence, format!("turn.ended {}", name(&ended.status)));
                let stop_reason = ended.metadata.as_ref().and_then(|metadata| metadata.stop_reason.clone());
                self.add_json(Aspect::Turns, &json!({ "status": ended.status, "stop_reason": stop_reason }));
            }
            EventData::ItemStarted(ItemEvent { item, .. }) => self.started(item),
            EventData::ItemCompleted(ItemEvent { item, .. }) => self.completed(item),
            EventData::PermissionRequested(permission) => {
                self.add(Aspect::Sequence, "permission.requested");
                let metadata = permission.metadata.as_ref();
                self.add_json(
                    Aspect::Permissions,
                    &json!({
                        "action": permission.action, "has_call": metadata.is_some_and(|it| it.call_id.is_some()),
                        "tool_kind": metadata.map(|it| &it.tool_kind),
                        "input": metadata.map(|it| without_optional_keys(&it.input)),
                        "scopes": metadata.map(|it| &it.scopes),
                    }),
                );
            }
            EventData::PermissionResolved(permission) => {
                self.add(Aspect::Sequence, format!("permission.resolved {}", name(&permission.status)));
                let scope = permission.metadata.as_ref().and_then(|metadata| metadata.scope.as_ref());
                self.add_json(Aspect::Permissions, &json!({ "status": permission.status, "scope": scope }));
            }
            EventData::QuestionRequested(question) => {
                self.add(Aspect::Sequence, "question.requested");
                let mut metadata = serde_json::to_value(&question.metadata).unwrap_or_default();
                let has_call = metadata.as_object_mut().and_then(|metadata| {
                    metadata.remove("native");
                    metadata.remove("call_id")
                });
                self.add_json(
                    Aspect::Questions,
                    &json!({
                        "prompt": question.prompt, "options": question.options, "metadata": metadata,
                        "has_call": has_call.is_some(),
                    }),
                );
            }
            EventData::QuestionResolved(question) => {
                self.add(Aspect::Sequence, format!("question.resolved {}", name(&question.status)));
                self.add_json(Aspect::Questions, &json!({ "status": question.status, "response": question.response }));
            }
            EventData::Error(error) => {
                self.add(Aspect::Sequence, "error");
                let details = error.details.as_ref();
                let status = details.and_then(|details| details.status);
                self.add_json(Aspect::Errors, &json!({ "code": error.code, "status": status }));
            }
            EventData::AgentUnparsed(_) => self.add(Aspect::Sequence, "agent.unparsed"),
            // Whether the recording holds the agent's exit is the recorder's affair.
            _ => {}
        }
    }

    fn started(&mut self, item: &Item) {
        if item.kind == ItemKind::Status {
            return;
        }
        if item.kind == ItemKind::ToolCall {
            self.calls.push(item.item_id.clone());
        }
        let line = self.of.entry(Aspect::Sequence).or_default();
        self.open.insert(item.item_id.clone(), line.len());
        line.push(String::new());
    }

    fn completed(&mut self, item: &Item) {
        let place = self.open.remove(&item.item_id).unwrap_or_default();
        if item.kind != ItemKind::Status {
            let is_below_call = item.parent_id.as_ref().is_some_and(|parent| self.calls.contains(parent));
            let below = if is_below_call { " of a sub-agent" } else { "" };
            let role = item.role.as_ref().map(|role| format!("/{}", name(role))).unwrap_or_default();
            let detail = item.content.iter().find_map(|part| match part {
                ContentPart::ToolCall { tool_kind, .. } => Some(format!(" {}", name(tool_kind))),
                ContentPart::Reasoning { .. } => Some(" reasoning".to_owned()),
                _ => None,
            });
            let line =
                format!("{}{role}{}{below} {}", name(&item.kind), detail.unwrap_or_default(), name(&item.status));
            if let Some(place) = self.of.get_mut(&Aspect::Sequence).and_then(|lines| lines.get_mut(place)) {
                *place = line;
            }
        }
        if item.kind == ItemKind::Status {
            self.status(item);
        }
        for part in &item.content {
            self.part(place, item, part);
        }
    }

    fn part(&mut self, place: usize, item: &Item, part: &ContentPart) {
        match part {
            ContentPart::Text { text } if item.kind == ItemKind::Message => {
                let role = item.role.as_ref().map(name::<Role>).unwrap_or_default();
                self.texts.push((place, format!("{role}: {text}")));
            }
            ContentPart::Reasoning { text, visibility } => {
                self.texts.push((place, format!("{} reasoning: {text}", name(visibility))));
            }
            ContentPart::ToolCall { title, input, .. } => {
                self.add(Aspect::Titles, title.clone().unwrap_or_default());
                self.add_json(Aspect::Inputs, &without_optional_keys(input));
            }
            // Why a tool failed that is no command, each agent says in its own words.
            ContentPart::ToolResult { exit_code: None, .. } if item.status == ItemStatus::Failed => {
                self.add(Aspect::Outputs, "failed");
            }
            ContentPart::ToolResult { output, exit_code, .. } => {
                // Claude Code and OpenCode do not say whether the last line was ended.
                let output = output.trim_end();
                self.add_json(Aspect::Outputs, &json!({ "output": output, "exit_code": exit_code }));
            }
            ContentPart::FileRef { .. } | ContentPart::Image { .. } => self.add_json(Aspect::Files, part),
            _ => {}
        }
    }

    /// The data of a status item, without what differs each time it is recorded.
    fn status(&mut self, item: &Item) {
        let Some(ContentPart::Status { label, detail }) = item.content.first() else { return };
        let json = item.content.iter().find_map(|part| match part {
            ContentPart::Json { json } => Some(json.clone()),
            _ => None,
        });
        let mut json = json.unwrap_or_default();
        if let (StatusLabel::Retry | StatusLabel::Task, Value::Object(fields)) = (label, &mut json) {
            for own in ["delay_ms", "task_id", "call_id", "reason"] {
                fields.remove(own);
            }
        }
        let json = without_optional_keys(&json);
        let has_data = StatusData::decode(label, &json).is_some();
        let detail = detail.as_deref().filter(|_| matches!(label, StatusLabel::Plan));
        if has_data {
            self.add_json(Aspect::Statuses, &json!({ "label": label, "data": json, "detail": detail }));
        }
    }
}

/// A value without the keys that only some agents say.
fn without_optional_keys(value: &impl Serialize) -> Value {
    fn prune(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !OPTIONAL_KEYS.iter().any(|optional| optional.key == key));
                fields.values_mut().for_each(prune);
            }
            Value::Array(list) => list.iter_mut().for_each(prune),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value).unwrap_or_default();
    prune(&mut value);
    value
}

/// The wire's name for a value of a small enum.
fn name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
