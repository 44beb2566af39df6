//! Detects features in a universal stream, from its events alone.

use std::collections::BTreeSet;

use interlingua_convert::coverage::Feature;
use interlingua_schema::{
    ContentPart, EventData, Item, ItemKind, ItemStatus, Role, Source, StatusLabel, ToolKind, TurnStatus, UniversalEvent,
};

/// The features that these events show.
#[must_use]
pub fn detect_features(events: &[UniversalEvent]) -> BTreeSet<Feature> {
    Feature::ALL.iter().copied().filter(|feature| has_feature(events, *feature)).collect()
}

fn has_feature(events: &[UniversalEvent], feature: Feature) -> bool {
    match feature {
        Feature::TextMessages => agent_messages(events).any(|item| has_part(item, is_text)),
        Feature::ToolCalls => completed_items(events).any(|item| item.kind == ItemKind::ToolCall),
        Feature::ToolResults => {
            from_agent(events).filter_map(completed_item).any(|item| item.kind == ItemKind::ToolResult)
        }
        Feature::ExitCodes => completed_items(events)
            .any(|item| has_part(item, |part| matches!(part, ContentPart::ToolResult { exit_code: Some(_), .. }))),
        Feature::Questions => from_agent(events).any(|event| matches!(event.data, EventData::QuestionRequested(_))),
        Feature::Permissions => from_agent(events).any(|event| matches!(event.data, EventData::PermissionRequested(_))),
        Feature::Images => {
            user_messages(events).any(|item| has_part(item, |part| matches!(part, ContentPart::Image { .. })))
        }
        Feature::FileAttachments => {
            user_messages(events).any(|item| has_part(item, |part| matches!(part, ContentPart::FileRef { .. })))
        }
        Feature::SessionLifecycle => from_agent(events).any(|event| matches!(event.data, EventData::SessionStarted(_))),
        Feature::ErrorEvents => from_agent(events).any(|event| matches!(event.data, EventData::Error(_))),
        Feature::Reasoning => agent_messages(events)
            .any(|item| has_part(item, |part| matches!(part, ContentPart::Reasoning { text, .. } if !text.is_empty()))),
        Feature::CommandExecution => call_ids(events, &ToolKind::Command).any(|call| has_run(events, call)),
        Feature::FileChanges => completed_items(events)
            .filter(|item| item.kind == ItemKind::ToolResult)
            .any(|item| has_part(item, |part| matches!(part, ContentPart::FileRef { diff: Some(_), .. }))),
        Feature::McpTools => call_ids(events, &ToolKind::Mcp).next().is_some(),
        Feature::StreamingDeltas => has_message_deltas(events),
        Feature::ItemStarted => from_agent(events).any(|event| matches!(event.data, EventData::ItemStarted(_))),
        Feature::LiveEvents => is_live(events),
        Feature::Completion => from_agent(events).any(|event| turn_status(event) == Some(TurnStatus::Completed)),
        Feature::Usage => {
            events.iter().any(|event| matches!(&event.data, EventData::TurnEnded(turn) if turn.usage.is_some()))
        }
        Feature::SubAgents => has_sub_agent(events),
        Feature::Plans => has_status(events, &StatusLabel::Plan) || call_ids(events, &ToolKind::Plan).next().is_some(),
        Feature::PlanMode => is_in_plan_mode(events),
        Feature::Interrupts => events.iter().any(|event| turn_status(event) == Some(TurnStatus::Interrupted)),
        Feature::Compaction => has_status(events, &StatusLabel::Compaction),
        Feature::Retries => has_status(events, &StatusLabel::Retry),
        Feature::Status => completed_items(events).any(|item| item.kind == ItemKind::Status),
    }
}

/// Events that come from the agent, not from us.
fn from_agent(events: &[UniversalEvent]) -> impl Iterator<Item = &UniversalEvent> {
    events.iter().filter(|event| event.origin.source() == Source::Agent)
}

fn completed_item(event: &UniversalEvent) -> Option<&Item> {
    match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item),
        _ => None,
    }
}

fn turn_status(event: &UniversalEvent) -> Option<TurnStatus> {
    match &event.data {
        EventData::TurnEnded(turn) => Some(turn.status.clone()),
        _ => None,
    }
}

/// The items in their final state.
fn completed_items(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    events.iter().filter_map(completed_item)
}

/// The agent's messages. The Agent Client Protocol has no end of a message: then the agent has started it, and its end is
/// inferred.
fn agent_messages(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    let is_whole = |event: &&UniversalEvent| {
        completed_item(event).is_some_and(|item| {
            item.kind == ItemKind::Message
                && item.role == Some(Role::Assistant)
                && (event.origin.source() == Source::Agent
                    || (item.status == ItemStatus::Completed && is_started_by_agent(events, item)))
        })
    };
    events.iter().filter(is_whole).filter_map(completed_item)
}

fn is_started_by_agent(events: &[UniversalEvent], item: &Item) -> bool {
    from_agent(events)
        .any(|event| matches!(&event.data, EventData::ItemStarted(data) if data.item.item_id == item.item_id))
}

/// The user's messages. Prompts of sub-agents have a parent and are left out.
fn user_messages(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    completed_items(events).filter(|item| item.role == Some(Role::User) && item.parent_id.is_none())
}

/// Call ids of the tool calls of one kind.
fn call_ids<'a>(events: &'a [UniversalEvent], kind: &'a ToolKind) -> impl Iterator<Item = &'a String> {
    completed_items(events).flat_map(|item| &item.content).filter_map(move |part| match part {
        ContentPart::ToolCall { call_id, tool_kind: Some(found), .. } if found == kind => Some(call_id),
        _ => None,
    })
}

fn has_part(item: &Item, predicate: impl Fn(&ContentPart) -> bool) -> bool {
    item.content.iter().any(predicate)
}

fn is_text(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text { text } if !text.is_empty())
}

/// Whether the command of this call ran and has output. A refused command has none.
fn has_run(events: &[UniversalEvent], call: &str) -> bool {
    completed_items(events).filter(|item| item.status == ItemStatus::Completed).any(|item| {
        has_part(item, |part| {
            matches!(part, ContentPart::ToolResult { call_id, output, .. } if call_id == call && !output.is_empty())
        })
    })
}

fn has_status(events: &[UniversalEvent], expected: &StatusLabel) -> bool {
    completed_items(events)
        .any(|item| has_part(item, |part| matches!(part, ContentPart::Status { label, .. } if label == expected)))
}

/// Whether a message of the assistant has a delta that comes from the agent.
fn has_message_deltas(events: &[UniversalEvent]) -> bool {
    let messages: BTreeSet<_> = agent_messages(events).map(|item| item.item_id.as_str()).collect();
    from_agent(events)
        .any(|event| matches!(&event.data, EventData::ItemDelta(delta) if messages.contains(delta.item_id.as_str())))
}

/// Whether an item of the agent is completed before the end of its turn, so that the stream is live.
fn is_live(events: &[UniversalEvent]) -> bool {
    let ends: Vec<_> = events.iter().filter(|event| turn_status(event).is_some()).collect();
    from_agent(events).filter(|event| completed_item(event).is_some_and(|item| item.role != Some(Role::User))).any(
        |event| {
            ends.iter()
                .any(|end| end.session_id == event.session_id && end.sequence > event.sequence && end.time > event.time)
        },
    )
}

/// Whether an item other than a status has a tool call as its parent. Only items of sub-agents have one.
fn has_sub_agent(events: &[UniversalEvent]) -> bool {
    let calls: BTreeSet<_> = completed_items(events)
        .filter(|item| item.kind == ItemKind::ToolCall)
        .map(|item| item.item_id.as_str())
        .collect();
    let is_child_of_call = |item: &Item| item.parent_id.as_ref().is_some_and(|parent| calls.contains(parent.as_str()));
    completed_items(events).any(|item| item.kind != ItemKind::Status && is_child_of_call(item))
}

fn is_in_plan_mode(events: &[UniversalEvent]) -> bool {
    let is_plan = |mode: &Option<String>| mode.as_deref() == Some("plan");
    events.iter().any(|event| match &event.data {
        EventData::SessionStarted(session) => {
            session.metadata.as_ref().is_some_and(|metadata| is_plan(&metadata.permission_mode))
        }
        EventData::TurnStarted(turn) => {
            turn.metadata.as_ref().is_some_and(|metadata| is_plan(&metadata.permission_mode))
        }
        EventData::ItemCompleted(data) => {
            let is_mode_change = has_part(&data.item, |part| {
                matches!(part, ContentPart::Status { label: StatusLabel::ModeChanged, .. })
            });
            is_mode_change
                && has_part(&data.item, |part| matches!(part, ContentPart::Json { json } if json["to"] == "plan"))
        }
        _ => false,
    })
}
