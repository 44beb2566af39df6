//! Events about messages, tools and reviews, which older formats have instead of items.

use serde::Deserialize;
use serde_json::{Value, json};

use super::changes;
use super::items::{self, camel_case};
use super::line::Payload;
use super::translate::{Context, LastStep, Thread, decode_value};
use crate::json::{Field, decode, text};
use crate::output::Output;

const REPEATED_BY_ITEM: &str = "event that an item repeats";

impl Thread {
    /// A prompt, in versions without items.
    pub(super) fn user_message(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.info.scan.has_message_items {
            return out.drop_record("message that an item repeats");
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        let message = text(payload.message).unwrap_or_default();
        // The instructions of a review are written twice.
        if self.is_in_review && self.last_prompt.as_deref() == Some(&*message) {
            return out.drop_record("repeated instructions of a review");
        }
        if let Some(turn) = &self.turn
            && turn.id.is_empty()
            && !self.is_in_review
            && turn.last_step != LastStep::Tool
        {
            self.cut_off_turn(out);
        }
        self.ensure_turn(context, out);
        self.last_prompt = Some(message.clone().into_owned());
        self.note_step(LastStep::Prompt);
        let mut parts = vec![json!({ "type": "text", "text": message })];
        let images: Vec<Value> = decode_list(payload.images);
        parts.extend(images.into_iter().map(|url| json!({ "type": "image", "url": url })));
        let local: Vec<Value> = decode_list(payload.local_images);
        parts.extend(local.into_iter().map(|path| json!({ "type": "localImage", "path": path })));
        if message.is_empty() && parts.len() > 1 {
            parts.remove(0);
        }
        let item = json!({ "type": "userMessage", "id": context.item_id(), "content": parts });
        self.complete_whole_item(item, context, out);
    }

    /// An answer, in versions without items.
    pub(super) fn agent_message(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.info.scan.has_message_items {
            return out.drop_record("message that an item repeats");
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        self.ensure_turn(context, out);
        self.note_step(LastStep::Answer);
        let item = json!({ "type": "agentMessage", "id": context.item_id(), "text": text(payload.message) });
        self.complete_whole_item(item, context, out);
    }

    pub(super) fn mcp_call_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record(REPEATED_BY_ITEM);
        };
        let invocation: Value = decode_value(payload.invocation);
        let result: Value = decode_value(payload.result);
        let ok = result.get("Ok").cloned();
        let is_error =
            ok.as_ref().is_none_or(|ok| ok.get("isError").or_else(|| ok.get("is_error")) == Some(&json!(true)));
        let mut item = json!({
            "type": "mcpToolCall", "id": id, "server": invocation["server"], "tool": invocation["tool"],
            "arguments": raw_arguments(payload.invocation), "status": if is_error { "failed" } else { "completed" },
            "durationMs": items::duration_millis(&decode_value(payload.duration)),
        });
        match ok {
            Some(result) => item["result"] = result,
            None => item["error"] = json!({ "message": result.get("Err").cloned().unwrap_or_default() }),
        }
        self.complete_event_call(&id, item, context, out);
    }

    pub(super) fn patch_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record(REPEATED_BY_ITEM);
        };
        let status = text(payload.status).map(|status| camel_case(&status));
        let is_success = payload.success.is_some_and(|success| success.get() == "true");
        let status = status.unwrap_or_else(|| if is_success { "completed" } else { "failed" }.to_owned());
        let item = json!({
            "type": "fileChange", "id": id, "status": status, "changes": changes::to_wire(decode_value(payload.changes)),
        });
        self.complete_event_call(&id, item, context, out);
    }

    /// Ends a call whose result is an event. The event describes the call better than the model's call.
    pub(super) fn complete_event_call(&mut self, id: &str, item: Value, context: &Context<'_>, out: &mut Output<'_>) {
        self.ensure_turn(context, out);
        self.calls.remove(id);
        self.note_step(LastStep::Tool);
        self.complete_whole_item(item, context, out);
    }

    pub(super) fn web_search_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record(REPEATED_BY_ITEM);
        };
        let action = web_action(payload.action);
        let item = json!({ "type": "webSearch", "id": id, "query": text(payload.query).unwrap_or_default(), "action": action });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    pub(super) fn image_generation_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record(REPEATED_BY_ITEM);
        };
        let item = json!({
            "type": "imageGeneration", "id": id, "status": text(payload.status).unwrap_or_default(),
            "result": text(payload.result).unwrap_or_default(), "revisedPrompt": text(payload.revised_prompt),
            "savedPath": text(payload.saved_path),
        });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    pub(super) fn view_image(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record(REPEATED_BY_ITEM);
        };
        let item = json!({ "type": "imageView", "id": id, "path": text(payload.path).unwrap_or_default() });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    pub(super) fn entered_review(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.id.is_empty()) {
            self.cut_off_turn(out);
        }
        self.ensure_turn(context, out);
        self.is_in_review = true;
        if let Some(turn) = &mut self.turn {
            turn.needs_no_answer = true;
        }
        let item =
            json!({ "type": "enteredReviewMode", "id": context.item_id(), "review": text(payload.user_facing_hint) });
        self.complete_whole_item(item, context, out);
    }

    pub(super) fn exited_review(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        self.is_in_review = false;
        let review = payload.review_output.map(|output| items::render_review(&decode_value(Some(output))));
        let item = json!({ "type": "exitedReviewMode", "id": context.item_id(), "review": review.unwrap_or_default() });
        self.complete_whole_item(item, context, out);
    }
}

/// The arguments of a call as the model wrote them.
fn raw_arguments(invocation: Field<'_>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Invocation<'a> {
        #[serde(borrow)]
        arguments: Field<'a>,
    }
    let invocation: Invocation<'_> = decode(invocation);
    invocation.arguments.map_or("null", |arguments| arguments.get()).to_owned()
}

pub(super) fn web_action(action: Field<'_>) -> Value {
    let mut action = decode_value(action);
    if let Some(Value::String(kind)) = action.get_mut("type") {
        *kind = camel_case(kind);
    }
    action
}

fn decode_list(field: Field<'_>) -> Vec<Value> {
    match decode_value(field) {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}
