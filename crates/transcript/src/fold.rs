//! Folding events into entries.

use std::collections::{BTreeMap, HashMap};

use interlingua_schema::{
    ContentPart, EventData, Item, ItemId, ItemKind, ItemStatus, Question, Role, StatusData, StatusLabel, ToolKind,
    UniversalEvent,
};

use crate::entry::{Block, Entry, EntryBody, MessageEntry, ResultEntry, StatusEntry};

/// Number of an entry, in the order in which entries began.
type EntryId = u64;

/// Folds the events of one session into entries. An entry is returned when it and all entries before it are complete.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    next_id: EntryId,
    /// Entries that were not returned yet, those of sub-agents included.
    pending: BTreeMap<EntryId, PendingEntry>,
    /// Entries of the session itself, in order.
    roots: Vec<EntryId>,
    /// The entry that an open item belongs to.
    items: HashMap<ItemId, EntryId>,
    calls: HashMap<String, EntryId>,
    requests: HashMap<String, EntryId>,
    /// Titles of the calls that were returned without a result.
    unfinished_calls: HashMap<String, String>,
}

#[derive(Debug)]
struct PendingEntry {
    entry: Entry,
    /// The tool call whose sub-agent the entry belongs to.
    container: Option<EntryId>,
    children: Vec<EntryId>,
    is_complete: bool,
    /// Text that was streamed, for a message or result that does not complete.
    streamed: String,
}

impl Fold {
    /// Adds an event, and returns the entries that are now complete.
    pub(crate) fn push(&mut self, event: &UniversalEvent) -> Vec<Entry> {
        match &event.data {
            EventData::SessionStarted(data) => self.push_complete(event, EntryBody::SessionStarted(data.clone())),
            EventData::SessionEnded(data) => {
                self.complete_all();
                self.push_complete(event, EntryBody::SessionEnded(data.clone()));
            }
            EventData::TurnStarted(_) => self.push_complete(event, EntryBody::TurnStarted),
            EventData::TurnEnded(data) => {
                self.complete_all();
                self.push_complete(event, EntryBody::TurnEnded(data.clone()));
            }
            EventData::ItemStarted(data) => self.start_item(event, &data.item),
            EventData::ItemDelta(data) => {
                if let Some(pending) = self.items.get(&data.item_id).and_then(|id| self.pending.get_mut(id)) {
                    pending.streamed.push_str(&data.delta);
                }
            }
            EventData::ItemCompleted(data) => self.complete_item(event, &data.item),
            EventData::PermissionRequested(data) => {
                let call = data.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref());
                let id = self.begin(event, self.container_of_call(call), EntryBody::Permission(data.clone()));
                self.requests.insert(data.permission_id.clone(), id);
            }
            EventData::QuestionRequested(data) => {
                let call = data.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref());
                let id = self.begin(event, self.container_of_call(call), EntryBody::Question(data.clone()));
                self.requests.insert(data.question_id.clone(), id);
            }
            EventData::PermissionResolved(data) => {
                self.resolve(event, &data.permission_id, EntryBody::Permission(data.clone()));
            }
            EventData::QuestionResolved(data) => {
                self.resolve(event, &data.question_id, EntryBody::Question(without_secret(data.clone())));
            }
            EventData::Error(data) => self.push_complete(event, EntryBody::Error(data.clone())),
            EventData::AgentUnparsed(data) => self.push_complete(event, EntryBody::Unparsed(data.error.clone())),
            EventData::Unknown(data) => self.push_complete(event, EntryBody::Unknown(data.kind.clone())),
        }
        self.take_complete()
    }

    /// Returns the entries that are left when the log ends.
    pub(crate) fn finish(&mut self) -> Vec<Entry> {
        self.complete_all();
        self.take_complete()
    }

    fn begin(&mut self, event: &UniversalEvent, container: Option<EntryId>, body: EntryBody) -> EntryId {
        let id = self.next_id;
        self.next_id += 1;
        let container = container.filter(|container| self.pending.contains_key(container));
        match container.and_then(|container| self.pending.get_mut(&container)) {
            Some(container) => container.children.push(id),
            None => self.roots.push(id),
        }
        let entry = Entry { sequence: event.sequence, time: event.time, body };
        let pending =
            PendingEntry { entry, container, children: Vec::new(), is_complete: false, streamed: String::new() };
        self.pending.insert(id, pending);
        id
    }

    fn push_complete(&mut self, event: &UniversalEvent, body: EntryBody) {
        let id = self.begin(event, None, body);
        self.complete(id);
    }

    fn complete(&mut self, id: EntryId) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.is_complete = true;
        }
    }

    fn resolve(&mut self, event: &UniversalEvent, request: &str, body: EntryBody) {
        match self.requests.remove(request).and_then(|id| self.pending.get_mut(&id)) {
            Some(pending) => {
                pending.entry.body = body;
                pending.is_complete = true;
            }
            None => self.push_complete(event, body),
        }
    }

    /// Where an item is shown: below the tool call that started its sub-agent, or beside the message that it belongs to.
    fn container_of(&self, item: &Item) -> Option<EntryId> {
        let parent = *self.items.get(item.parent_id.as_ref()?)?;
        let pending = self.pending.get(&parent)?;
        match pending.entry.body {
            EntryBody::Tool(_) => Some(parent),
            _ => pending.container,
        }
    }

    fn container_of_call(&self, call: Option<&str>) -> Option<EntryId> {
        self.pending.get(self.calls.get(call?)?)?.container
    }

    fn start_item(&mut self, event: &UniversalEvent, item: &Item) {
        let id = match item.kind {
            ItemKind::ToolResult => {
                // The call's entry shows the result.
                let call = item.content.iter().find_map(result_call).and_then(|call| self.calls.get(call).copied());
                let Some(id) = call else { return };
                id
            }
            ItemKind::ToolCall => {
                let id = self.begin(event, self.container_of(item), EntryBody::Tool(Box::default()));
                self.update_call(id, item);
                id
            }
            ItemKind::Status => self.begin(event, self.container_of(item), status_body(item)),
            ItemKind::Message | ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_) => {
                self.begin(event, self.container_of(item), message_body(item, true))
            }
        };
        self.items.insert(item.item_id.clone(), id);
    }

    fn update_call(&mut self, id: EntryId, item: &Item) {
        let Some(PendingEntry { entry: Entry { body: EntryBody::Tool(tool), .. }, streamed, .. }) =
            self.pending.get_mut(&id)
        else {
            return;
        };
        // Arguments that were streamed are not the output.
        streamed.clear();
        for part in &item.content {
            if let ContentPart::ToolCall { name, arguments, call_id, tool_kind, title, input } = part {
                tool.name.clone_from(name);
                tool.arguments.clone_from(arguments);
                tool.kind.clone_from(tool_kind);
                tool.title.clone_from(title);
                tool.input.clone_from(input);
                self.calls.insert(call_id.clone(), id);
            }
        }
    }

    fn complete_item(&mut self, event: &UniversalEvent, item: &Item) {
        match item.kind {
            ItemKind::ToolResult => self.complete_result(event, item),
            // The entry completes with the call's result.
            ItemKind::ToolCall => match self.items.get(&item.item_id) {
                Some(id) => self.update_call(*id, item),
                None => self.start_item(event, item),
            },
            ItemKind::Status => self.replace(event, item, status_body(item)),
            ItemKind::Message | ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_) => {
                self.replace(event, item, message_body(item, false));
            }
        }
    }

    fn replace(&mut self, event: &UniversalEvent, item: &Item, body: EntryBody) {
        if let Some(pending) = self.items.get(&item.item_id).and_then(|id| self.pending.get_mut(id)) {
            pending.entry.body = body;
            pending.is_complete = true;
            pending.streamed = String::new();
            return;
        }
        let id = self.begin(event, self.container_of(item), body);
        self.items.insert(item.item_id.clone(), id);
        self.complete(id);
    }

    fn complete_result(&mut self, event: &UniversalEvent, item: &Item) {
        let result = result_entry(item);
        let Some(call) = item.content.iter().find_map(result_call) else {
            return self.replace(event, item, message_body(item, false));
        };
        let pending = self.calls.get(call).and_then(|id| self.pending.get_mut(id));
        if let Some(PendingEntry { entry: Entry { body: EntryBody::Tool(tool), .. }, is_complete, streamed, .. }) =
            pending
        {
            tool.result = Some(result);
            // A sub-agent may go on after the call that started it, until the end of the turn.
            *is_complete = tool.kind != Some(ToolKind::SubAgent);
            *streamed = String::new();
            return;
        }
        let title = self.unfinished_calls.remove(call).unwrap_or_else(|| call.to_owned());
        self.push_complete(event, EntryBody::LateResult { title, result });
    }

    /// Completes what is open at the end of a turn, of the session or of the log. A command may go on after its turn:
    /// its result becomes an entry of its own.
    fn complete_all(&mut self) {
        for pending in self.pending.values_mut().filter(|pending| !pending.is_complete) {
            pending.is_complete = true;
            let streamed = std::mem::take(&mut pending.streamed);
            match &mut pending.entry.body {
                EntryBody::Message(message) if message.blocks.iter().all(Block::is_empty) => {
                    message.blocks = vec![match message.blocks.first() {
                        Some(Block::Reasoning(_)) => Block::Reasoning(streamed),
                        _ => Block::Text(streamed),
                    }];
                }
                EntryBody::Tool(tool) if !streamed.is_empty() => {
                    tool.result = Some(ResultEntry { output: streamed, ..ResultEntry::default() });
                }
                _ => {}
            }
        }
        for (call, id) in &self.calls {
            if let Some(PendingEntry { entry: Entry { body: EntryBody::Tool(tool), .. }, .. }) = self.pending.get(id)
                && tool.result.is_none()
            {
                self.unfinished_calls.insert(call.clone(), tool.headline().to_owned());
            }
        }
    }

    fn take_complete(&mut self) -> Vec<Entry> {
        let count = self.roots.iter().take_while(|id| self.is_tree_complete(**id)).count();
        if count == 0 {
            return Vec::new();
        }
        let complete: Vec<EntryId> = self.roots.drain(..count).collect();
        let entries = complete.into_iter().filter_map(|id| self.take_tree(id)).collect();
        if self.pending.is_empty() {
            self.items.clear();
            self.calls.clear();
            self.requests.clear();
        }
        entries
    }

    fn is_tree_complete(&self, id: EntryId) -> bool {
        self.pending.get(&id).is_none_or(|pending| {
            pending.is_complete && pending.children.iter().all(|child| self.is_tree_complete(*child))
        })
    }

    fn take_tree(&mut self, id: EntryId) -> Option<Entry> {
        let PendingEntry { mut entry, children, .. } = self.pending.remove(&id)?;
        if let EntryBody::Tool(tool) = &mut entry.body {
            tool.children = children.into_iter().filter_map(|child| self.take_tree(child)).collect();
        }
        Some(entry)
    }
}

impl Block {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::Json(text) => text.is_empty(),
            Self::Image { .. } | Self::File { .. } => false,
        }
    }
}

fn result_call(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    }
}

fn message_body(item: &Item, is_open: bool) -> EntryBody {
    EntryBody::Message(MessageEntry {
        role: item.role.clone().unwrap_or(match item.kind {
            ItemKind::System => Role::System,
            ItemKind::ToolResult => Role::Tool,
            _ => Role::Assistant,
        }),
        blocks: item.content.iter().filter_map(block).collect(),
        is_failed: matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_)),
        is_open,
    })
}

fn block(part: &ContentPart) -> Option<Block> {
    match part {
        ContentPart::Text { text } => Some(Block::Text(text.clone())),
        ContentPart::Reasoning { text, .. } => Some(Block::Reasoning(text.clone())),
        ContentPart::Json { json } => Some(Block::Json(format!("{json:#}"))),
        ContentPart::Image { path, mime } => Some(Block::Image { path: path.clone(), mime: mime.clone() }),
        ContentPart::FileRef { path, diff, .. } => Some(Block::File { path: path.clone(), diff: diff.clone() }),
        ContentPart::Status { detail, .. } => detail.clone().map(Block::Text),
        ContentPart::Unknown(_) => Some(Block::Text("(content of an unknown type)".to_owned())),
        ContentPart::ToolCall { .. } | ContentPart::ToolResult { .. } => None,
    }
}

fn result_entry(item: &Item) -> ResultEntry {
    let mut result = ResultEntry {
        is_failed: matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_)),
        blocks: item.content.iter().filter_map(block).collect(),
        ..ResultEntry::default()
    };
    for part in &item.content {
        if let ContentPart::ToolResult { output, exit_code, duration_ms, .. } = part {
            result.output.clone_from(output);
            result.exit_code = *exit_code;
            result.duration_ms = *duration_ms;
        }
    }
    // If the output is the same diff as the file's, it is shown once.
    let repeats = |block: &Block| matches!(block, Block::File { diff: Some(diff), .. } if *diff == result.output);
    if result.blocks.iter().any(repeats) {
        result.output = String::new();
    }
    result
}

fn status_body(item: &Item) -> EntryBody {
    let mut status = StatusEntry { label: "status".to_owned(), detail: None, steps: Vec::new() };
    for part in &item.content {
        match part {
            ContentPart::Status { label, detail } => {
                status.label = label.to_string();
                status.detail.clone_from(detail);
            }
            ContentPart::Json { json } if item.status_label() == Some(&StatusLabel::Plan) => {
                if let Some(Ok(StatusData::Plan(plan))) = StatusData::decode(&StatusLabel::Plan, json) {
                    status.steps = plan.steps;
                }
            }
            _ => {}
        }
    }
    EntryBody::Status(status)
}

/// A question without its answer, if the answer is secret: transcripts are passed on.
fn without_secret(mut question: Question) -> Question {
    if question.response.is_some() && question.metadata.as_ref().is_some_and(|metadata| metadata.secret) {
        question.response = Some("(secret)".to_owned());
    }
    question
}
