//! Items of the model's API. They are shown where no event and no item has the same content: calls that were declined, and
//! in older formats all commands, sub-agents and reasoning.

use serde::Deserialize;
use serde_json::{Value, json};

use super::home::ThreadRole;
use super::items::camel_case;
use super::legacy::{self, CallKind, CommandOutput, ModelCall};
use super::legacy_events::web_action;
use super::line::Payload;
use super::translate::{Context, LastStep, REPEATED, Thread, decode_value, unparsed};
use crate::json::{Field, decode, text};
use crate::output::Output;

impl Thread {
    pub(super) fn response_item(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if matches!(self.info.role, Some(ThreadRole::Internal)) {
            return out.drop_record("work of the agent for itself");
        }
        let kind = text(payload.kind).unwrap_or_default();
        match &*kind {
            "message" | "image_generation_call" => out.drop_record(REPEATED),
            "reasoning" => self.reasoning(payload, context, out),
            "function_call" | "custom_tool_call" | "local_shell_call" => self.model_call(&kind, payload, context, out),
            "function_call_output" | "custom_tool_call_output" => self.model_call_output(payload, context, out),
            "web_search_call" => self.web_search_call(payload, context, out),
            "agent_message" | "additional_tools" | "ghost_snapshot" | "compaction" | "compaction_summary"
            | "context_compaction" | "tool_search_call" | "tool_search_output" => {
                out.drop_record("context for the model");
            }
            _ => {
                let kind = format!("response_item/{kind}");
                unparsed(context.session_id, context.json, "unknown type of item", Some(kind), out);
            }
        }
    }

    /// Reasoning, in versions without items.
    pub(super) fn reasoning(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Part<'a> {
            #[serde(borrow)]
            text: Field<'a>,
        }
        if self.info.scan.has_message_items {
            return out.drop_record(REPEATED);
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        self.ensure_turn(context, out);
        let texts = |field| {
            let parts: Vec<Part<'_>> = decode(field);
            parts.iter().filter_map(|part| text(part.text).map(std::borrow::Cow::into_owned)).collect::<Vec<String>>()
        };
        let item = json!({
            "type": "reasoning", "id": context.item_id(), "summary": texts(payload.summary),
            "content": texts(payload.content),
        });
        self.complete_whole_item(item, context, out);
    }

    /// A call of the model. If an item has the same id, the item is shown instead.
    pub(super) fn model_call(
        &mut self,
        kind: &str,
        payload: &Payload<'_>,
        context: &Context<'_>,
        out: &mut Output<'_>,
    ) {
        let id = text(payload.call_id).or_else(|| text(payload.id)).unwrap_or_default().into_owned();
        if self.info.scan.items.contains(&id) {
            return out.drop_record(REPEATED);
        }
        if self.info.scan.rejected_calls.contains(&id) {
            return out.drop_record("call that was never made");
        }
        let is_custom = kind == "custom_tool_call";
        let (name, arguments) = match kind {
            "local_shell_call" => {
                ("shell".into(), payload.action.map(|action| action.get().to_owned()).unwrap_or_default())
            }
            "custom_tool_call" => {
                (text(payload.name).unwrap_or_default(), text(payload.input).unwrap_or_default().into_owned())
            }
            _ => (text(payload.name).unwrap_or_default(), text(payload.arguments).unwrap_or_default().into_owned()),
        };
        let namespace = text(payload.namespace);
        let call = legacy::read_call(
            &id,
            &name,
            namespace.as_deref(),
            &arguments,
            is_custom,
            self.cwd.as_deref(),
            &self.shown_in,
        );
        self.ensure_turn(context, out);
        self.note_step(LastStep::Tool);
        match (&call.kind, &call.item) {
            (CallKind::Plan, _) => self.plan(&call.arguments, context, out),
            // In newer versions these calls have an item, unless they were declined or could not start.
            (CallKind::Collab | CallKind::Mcp | CallKind::ImageView, _) if self.info.scan.has_message_items => {
                out.drop_record("call that failed before it became an item");
            }
            (_, Some(item)) => {
                // The start of a patch or of a server's tool is only known from its end.
                let turn = self.turn_id();
                self.send_item("item/started", &turn, item.clone(), context.json, out);
            }
            (_, None) => out.drop_record("call that has no item; its effects are reported separately"),
        }
        self.calls.insert(id, call);
    }

    pub(super) fn plan(&mut self, arguments: &Value, context: &Context<'_>, out: &mut Output<'_>) {
        let mut steps = arguments.get("plan").cloned().unwrap_or_default();
        for step in steps.as_array_mut().into_iter().flatten() {
            if let Some(Value::String(status)) = step.get_mut("status") {
                *status = camel_case(status);
            }
        }
        let params = json!({
            "threadId": self.shown_in, "turnId": self.turn_id(), "explanation": arguments.get("explanation"), "plan": steps,
        });
        self.send("turn/plan/updated", params, context.json, out);
    }

    /// The output of a call, as the model sees it.
    pub(super) fn model_call_output(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.call_id).unwrap_or_default().into_owned();
        let output = output_text(payload.output);
        let Some(call) = self.calls.remove(&id) else {
            return out.drop_record(REPEATED);
        };
        self.note_step(LastStep::Tool);
        match call.kind {
            CallKind::Command => {
                let Some(item) = call.item else { return };
                let output = CommandOutput::parse(&output);
                if let Some(session) = &output.session {
                    self.running.insert(session.clone(), (id.clone(), output.text.clone()));
                    self.calls.insert(id, ModelCall { kind: CallKind::None, arguments: Value::Null, item: Some(item) });
                    return out.drop_record("output of a command that is still running");
                }
                self.complete_whole_item(Value::Object(legacy::complete_command(item, &output)), context, out);
            }
            CallKind::CommandInput => self.command_input(&call.arguments, &output, context, out),
            CallKind::Question => self.question(&call.arguments, &output, context, out),
            CallKind::Plan | CallKind::None => out.drop_record("output of a call that has no item"),
            kind => match call.item.filter(|_| !self.info.scan.event_calls.contains(&id)) {
                Some(_) if self.info.scan.has_message_items && kind != CallKind::Patch => {
                    out.drop_record("output of a call that has no item");
                }
                Some(item) => {
                    let item = legacy::complete(item, &kind, &output, &mut self.agents);
                    self.complete_whole_item(Value::Object(item), context, out);
                }
                None => {
                    // The event follows.
                    out.drop_record(REPEATED);
                }
            },
        }
    }

    /// Output of a command that was still running.
    pub(super) fn command_input(
        &mut self,
        arguments: &Value,
        output: &str,
        context: &Context<'_>,
        out: &mut Output<'_>,
    ) {
        let session = match arguments.get("session_id") {
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::String(session)) => session.clone(),
            _ => String::new(),
        };
        let Some((id, before)) = self.running.remove(&session) else {
            return out.drop_record("output of a call that has no item");
        };
        let mut output = CommandOutput::parse(output);
        output.text = before + &output.text;
        if output.session.is_some() {
            self.running.insert(session, (id, output.text.clone()));
            return out.drop_record("output of a command that is still running");
        }
        if let Some(item) = self.calls.remove(&id).and_then(|call| call.item) {
            self.complete_whole_item(Value::Object(legacy::complete_command(item, &output)), context, out);
        }
    }

    /// A question and its answers. Live, the host answers it; on disk it is a call.
    pub(super) fn question(&self, arguments: &Value, output: &str, context: &Context<'_>, out: &mut Output<'_>) {
        let questions = arguments.get("questions").and_then(Value::as_array).cloned().unwrap_or_default();
        let answers: Value = serde_json::from_str(output).unwrap_or_default();
        let mut lines = Vec::new();
        for question in &questions {
            let id = question.get("id").and_then(Value::as_str).unwrap_or_default();
            let asked = question.get("question").and_then(Value::as_str).unwrap_or_default();
            let given = answers["answers"][id]["answers"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let given = given.collect::<Vec<_>>().join(", ");
            let given = if given.is_empty() { "no answer".to_owned() } else { given };
            lines.push(format!("Question: {asked} Answer: {given}"));
        }
        self.note(lines.join("\n"), context, out);
    }

    pub(super) fn web_search_call(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.id).map_or_else(|| context.item_id(), std::borrow::Cow::into_owned);
        if self.info.scan.has_search_events || self.info.scan.has_message_items || self.info.scan.items.contains(&id) {
            return out.drop_record(REPEATED);
        }
        let action = web_action(payload.action);
        let first = |key: &str| action.get(key).and_then(Value::as_str).map(str::to_owned);
        let query = first("query").or_else(|| first("url")).unwrap_or_default();
        let item = json!({ "type": "webSearch", "id": id, "query": query, "action": action });
        self.complete_event_call(&id, item, context, out);
    }
}

/// The text of an output, which may be a list of parts.
fn output_text(output: Field<'_>) -> String {
    match decode_value(output) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Value::Object(output) => output.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
