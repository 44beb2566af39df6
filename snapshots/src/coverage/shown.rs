//! Which features a universal stream shows: one question per feature, asked of the events alone.

use std::collections::BTreeSet;

use interlingua_convert::coverage::Feature;
use interlingua_schema::{
    ContentPart, EventData, Item, ItemKind, ItemStatus, Role, Source, StatusLabel, ToolKind, TurnStatus, UniversalEvent,
};

/// The features that these events show.
#[must_use]
pub fn shown(events: &[UniversalEvent]) -> BTreeSet<Feature> {
    Feature::ALL.iter().copied().filter(|feature| shows(events, *feature)).collect()
}

fn shows(events: &[UniversalEvent], feature: Feature) -> bool {
    match feature {
        Feature::TextMessages => said(events).any(|item| has(item, is_text)),
        Feature::ToolCalls => finished(events).any(|item| item.kind == ItemKind::ToolCall),
        Feature::ToolResults => by_agent(events).filter_map(finish).any(|item| item.kind == ItemKind::ToolResult),
        Feature::ExitCodes => finished(events)
            .any(|item| has(item, |part| matches!(part, ContentPart::ToolResult { exit_code: Some(_), .. }))),
        Feature::Questions => by_agent(events).any(|event| matches!(event.data, EventData::QuestionRequested(_))),
        Feature::Permissions => by_agent(events).any(|event| matches!(event.data, EventData::PermissionRequested(_))),
        Feature::Images => asked(events).any(|item| has(item, |part| matches!(part, ContentPart::Image { .. }))),
        Feature::FileAttachments => {
            asked(events).any(|item| has(item, |part| matches!(part, ContentPart::FileRef { .. })))
        }
        Feature::SessionLifecycle => by_agent(events).any(|event| matches!(event.data, EventData::SessionStarted(_))),
        Feature::ErrorEvents => by_agent(events).any(|event| matches!(event.data, EventData::Error(_))),
        Feature::Reasoning => said(events)
            .any(|item| has(item, |part| matches!(part, ContentPart::Reasoning { text, .. } if !text.is_empty()))),
        Feature::CommandExecution => calls(events, &ToolKind::Command).any(|call| ran(events, call)),
        Feature::FileChanges => finished(events)
            .filter(|item| item.kind == ItemKind::ToolResult)
            .any(|item| has(item, |part| matches!(part, ContentPart::FileRef { diff: Some(_), .. }))),
        Feature::McpTools => calls(events, &ToolKind::Mcp).next().is_some(),
        Feature::StreamingDeltas => streams(events),
        Feature::ItemStarted => by_agent(events).any(|event| matches!(event.data, EventData::ItemStarted(_))),
        Feature::LiveEvents => is_live(events),
        Feature::Completion => by_agent(events).any(|event| ended(event) == Some(TurnStatus::Completed)),
        Feature::Usage => {
            events.iter().any(|event| matches!(&event.data, EventData::TurnEnded(turn) if turn.usage.is_some()))
        }
        Feature::SubAgents => has_sub_agent(events),
        Feature::Plans => has_status(events, &StatusLabel::Plan) || calls(events, &ToolKind::Plan).next().is_some(),
        Feature::PlanMode => is_in_plan_mode(events),
        Feature::Interrupts => events.iter().any(|event| ended(event) == Some(TurnStatus::Interrupted)),
        Feature::Compaction => has_status(events, &StatusLabel::Compaction),
        Feature::Retries => has_status(events, &StatusLabel::Retry),
        Feature::Status => finished(events).any(|item| item.kind == ItemKind::Status),
    }
}

/// What the agent says itself.
fn by_agent(events: &[UniversalEvent]) -> impl Iterator<Item = &UniversalEvent> {
    events.iter().filter(|event| event.origin.source() == Source::Agent)
}

fn finish(event: &UniversalEvent) -> Option<&Item> {
    match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item),
        _ => None,
    }
}

fn ended(event: &UniversalEvent) -> Option<TurnStatus> {
    match &event.data {
        EventData::TurnEnded(turn) => Some(turn.status.clone()),
        _ => None,
    }
}

/// The items as they ended.
fn finished(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    events.iter().filter_map(finish)
}

/// The agent's messages.
fn said(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    by_agent(events)
        .filter_map(finish)
        .filter(|item| item.kind == ItemKind::Message && item.role == Some(Role::Assistant))
}

/// The user's messages; not the prompts of sub-agents, which have a parent.
fn asked(events: &[UniversalEvent]) -> impl Iterator<Item = &Item> {
    finished(events).filter(|item| item.role == Some(Role::User) && item.parent_id.is_none())
}

/// The ids of the calls of this kind of tool.
fn calls<'a>(events: &'a [UniversalEvent], kind: &'a ToolKind) -> impl Iterator<Item = &'a String> {
    finished(events).flat_map(|item| &item.content).filter_map(move |part| match part {
        ContentPart::ToolCall { call_id, tool_kind: Some(found), .. } if found == kind => Some(call_id),
        _ => None,
    })
}

fn has(item: &Item, is: impl Fn(&ContentPart) -> bool) -> bool {
    item.content.iter().any(is)
}

fn is_text(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Text { text } if !text.is_empty())
}

/// Whether the command of this call ran, rather than being refused, and its output is told.
fn ran(events: &[UniversalEvent], call: &str) -> bool {
    finished(events).filter(|item| item.status == ItemStatus::Completed).any(|item| {
        has(item, |part| {
            matches!(part, ContentPart::ToolResult { call_id, output, .. } if call_id == call && !output.is_empty())
        })
    })
}

fn has_status(events: &[UniversalEvent], wanted: &StatusLabel) -> bool {
    finished(events).any(|item| has(item, |part| matches!(part, ContentPart::Status { label, .. } if label == wanted)))
}

/// Whether a message of the assistant's has a delta of the agent's own.
fn streams(events: &[UniversalEvent]) -> bool {
    let messages: BTreeSet<_> = said(events).map(|item| item.item_id.as_str()).collect();
    by_agent(events)
        .any(|event| matches!(&event.data, EventData::ItemDelta(delta) if messages.contains(delta.item_id.as_str())))
}

/// Whether something the agent did is told earlier than that its turn is over.
fn is_live(events: &[UniversalEvent]) -> bool {
    let ends: Vec<_> = events.iter().filter(|event| ended(event).is_some()).collect();
    by_agent(events).filter(|event| finish(event).is_some_and(|item| item.role != Some(Role::User))).any(|event| {
        ends.iter()
            .any(|end| end.session_id == event.session_id && end.sequence > event.sequence && end.time > event.time)
    })
}

/// Whether an item other than a status is below a tool call, which only what a sub-agent does is.
fn has_sub_agent(events: &[UniversalEvent]) -> bool {
    let calls: BTreeSet<_> =
        finished(events).filter(|item| item.kind == ItemKind::ToolCall).map(|item| item.item_id.as_str()).collect();
    let is_below_a_call = |item: &Item| item.parent_id.as_ref().is_some_and(|parent| calls.contains(parent.as_str()));
    finished(events).any(|item| item.kind != ItemKind::Status && is_below_a_call(item))
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
            let is_mode =
                has(&data.item, |part| matches!(part, ContentPart::Status { label: StatusLabel::ModeChanged, .. }));
            is_mode && has(&data.item, |part| matches!(part, ContentPart::Json { json } if json["to"] == "plan"))
        }
        _ => false,
    })
}
