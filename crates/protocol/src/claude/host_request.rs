//! Control requests of the host, and their answers.

use std::marker::PhantomData;

use interlingua_native::claude::{
    ControlInitializeRequest, ControlInitializeRequestHooks, ControlInterruptRequest, ControlRequestInner,
    ControlResult, StdoutMessage,
};
use interlingua_native::{Json, Native as _, Request};

use super::HostMessage;

/// A control request of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostRequest {
    /// The first request. Its answer describes the agent.
    Initialize(Box<ControlInitializeRequest>),
    /// Ends the running turn.
    Interrupt(ControlInterruptRequest),
}

impl From<ControlInitializeRequest> for HostRequest {
    fn from(request: ControlInitializeRequest) -> Self {
        Self::Initialize(Box::new(request))
    }
}

impl From<ControlInterruptRequest> for HostRequest {
    fn from(request: ControlInterruptRequest) -> Self {
        Self::Interrupt(request)
    }
}

impl From<HostRequest> for ControlRequestInner {
    fn from(request: HostRequest) -> Self {
        match request {
            HostRequest::Initialize(request) => (*request).into(),
            HostRequest::Interrupt(request) => request.into(),
        }
    }
}

/// The first request of a session. The host has no hooks.
#[must_use]
pub fn initialize() -> ControlInitializeRequest {
    let hooks = Some(ControlInitializeRequestHooks::new());
    ControlInitializeRequest { hooks, ..ControlInitializeRequest::new() }
}

/// The request that ends the running turn. Queued messages stay.
#[must_use]
pub fn interrupt() -> ControlInterruptRequest {
    ControlInterruptRequest::new()
}

/// The parameters of a request that a host can send.
pub trait ControlRequestParams: Request<Union = ControlRequestInner> + Into<HostRequest> {}

impl<R: Request<Union = ControlRequestInner> + Into<HostRequest>> ControlRequestParams for R {}

/// Builds and numbers the requests that a host sends to one process.
#[derive(Clone, Debug, Default)]
pub struct ControlRequestBuilder {
    sent: u64,
}

impl ControlRequestBuilder {
    /// Builds a request with the next number.
    pub fn build<R: ControlRequestParams>(&mut self, request: R) -> SentRequest<R> {
        self.sent += 1;
        let id = format!("host-{}", self.sent);
        let line = HostMessage::Request { id: id.clone(), request: request.into() }.into_line();
        SentRequest { id, line, request: PhantomData }
    }
}

/// A request of the host. It knows the type of its answer.
#[derive(Clone, Debug)]
pub struct SentRequest<R> {
    id: String,
    line: String,
    request: PhantomData<fn() -> R>,
}

impl<R: Request> SentRequest<R> {
    /// The line to send.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The line to send, for a host that does not wait for the answer.
    #[must_use]
    pub fn into_line(self) -> String {
        self.line
    }

    /// Decodes the answer if a line of the agent answers this request. The inner error says that the agent refused the
    /// request, or that the answer cannot be decoded.
    #[must_use]
    pub fn read_answer(&self, line: &str) -> Option<Result<R::Response, String>> {
        let StdoutMessage::ControlResponse(response) = StdoutMessage::decode(line).ok()?.value else { return None };
        match response.response? {
            ControlResult::Success(success) if success.request_id.as_deref() == Some(&*self.id) => {
                let answer = success.response.as_ref().map_or("{}", Json::get);
                Some(R::Response::decode(answer).map(|decoded| decoded.value).map_err(|error| error.to_string()))
            }
            ControlResult::Error(error) if error.request_id.as_deref() == Some(&*self.id) => {
                Some(Err(error.error.unwrap_or_default()))
            }
            ControlResult::Success(_) | ControlResult::Error(_) | ControlResult::Unknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn requests_are_numbered() {
        let mut request_builder = ControlRequestBuilder::default();
        let sent = request_builder.build(initialize());
        let request = json!({"subtype": "initialize", "hooks": {}});
        let line = json!({"type": "control_request", "request_id": "host-1", "request": request});
        assert_eq!(serde_json::from_str::<Value>(sent.line()).unwrap(), line);
        let line =
            json!({"type": "control_request", "request_id": "host-2", "request": {"subtype": "interrupt"}}).to_string();
        let sent: Value = serde_json::from_str(request_builder.build(interrupt()).line()).unwrap();
        assert_eq!(sent, serde_json::from_str::<Value>(&line).unwrap());
    }

    #[test]
    fn an_answer_is_decoded_by_the_type_of_its_request() {
        let mut request_builder = ControlRequestBuilder::default();
        let sent = request_builder.build(initialize());
        let answer = |id: &str| {
            let models = json!([{"value": "default", "displayName": "Default", "supportedEffortLevels": ["low", "high"]},
                                {"value": "haiku"}]);
            let response = json!({"subtype": "success", "request_id": id, "response": {"models": models}});
            json!({"type": "control_response", "response": response}).to_string()
        };
        let models = sent.read_answer(&answer("host-1")).unwrap().unwrap().models.unwrap();
        assert_eq!(models[0].value.as_deref(), Some("default"));
        assert_eq!(models[0].supported_effort_levels.as_ref().map(Vec::len), Some(2));
        assert_eq!((models[1].value.as_deref(), &models[1].display_name), (Some("haiku"), &None));
        assert!(sent.read_answer(&answer("host-2")).is_none());
        assert!(sent.read_answer(r#"{"type":"system","subtype":"init","session_id":"1"}"#).is_none());
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let sent = ControlRequestBuilder::default().build(interrupt());
        let response = json!({"subtype": "error", "request_id": "host-1", "error": "not now"});
        let line = json!({"type": "control_response", "response": response}).to_string();
        assert_eq!(sent.read_answer(&line).unwrap().unwrap_err(), "not now");
    }
}
