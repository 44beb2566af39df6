//! Requests of the host, and their answers.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use interlingua_native::codex::{
    ClientRequest, ClientRequestEnvelope, InitializeParams, JsonrpcError, JsonrpcResponse, LoginAccountParams,
    ModelListParams, RequestId, ThreadBackgroundTerminalsCleanParams, ThreadResumeParams, ThreadStartParams,
    ThreadUnsubscribeParams, TurnInterruptParams, TurnStartParams,
};
use interlingua_native::{Native as _, Request};

use super::to_line;

/// Declares the requests of a host: for each, its name here and the type of its parameters.
macro_rules! host_requests {
    ($($(#[$doc:meta])* $name:ident($params:ident),)*) => {
        /// The kind of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RequestKind { $($(#[$doc])* $name,)* }

        /// The answer to a request.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Answer { $($(#[$doc])* $name(Box<<$params as Request>::Response>),)* }

        impl RequestKind {
            /// All kinds of requests.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The method on the wire.
            #[must_use]
            pub const fn method(self) -> &'static str {
                match self { $(Self::$name => <$params as Request>::METHOD,)* }
            }

            /// Decodes the answer to a request of this kind.
            ///
            /// # Errors
            /// If the server refuses the request, or the line is not an answer to it.
            pub fn decode_answer(self, line: &str) -> Result<Answer, AnswerError> {
                match self { $(Self::$name => decode_answer::<$params>(line).map(|answer| Answer::$name(Box::new(answer))),)* }
            }
        }

        $(impl From<$params> for HostRequest {
            fn from(params: $params) -> Self {
                Self { kind: RequestKind::$name, request: params.into() }
            }
        })*
    };
}

host_requests! {
    /// The first request on a connection.
    Initialize(InitializeParams),
    /// Logs in.
    LogIn(LoginAccountParams),
    /// Lists a page of the models.
    ListModels(ModelListParams),
    /// Starts a thread.
    StartThread(ThreadStartParams),
    /// Resumes a thread.
    ResumeThread(ThreadResumeParams),
    /// Starts a turn.
    StartTurn(TurnStartParams),
    /// Interrupts a turn.
    InterruptTurn(TurnInterruptParams),
    /// Ends the commands that an interrupted turn has left running.
    CleanBackgroundTerminals(ThreadBackgroundTerminalsCleanParams),
    /// Unsubscribes from the notifications of a thread.
    Unsubscribe(ThreadUnsubscribeParams),
}

/// A request of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRequest {
    kind: RequestKind,
    request: ClientRequest,
}

impl HostRequest {
    /// The kind of the request.
    #[must_use]
    pub const fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The line to send.
    #[must_use]
    pub fn into_line(self, id: u64) -> String {
        let id = RequestId::Number(i64::try_from(id).unwrap_or(i64::MAX));
        to_line(&ClientRequestEnvelope { id, message: self.request })
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// The server refused it, with this message.
    Refused(String),
    /// The answer cannot be decoded, for this reason.
    Unreadable(String),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(message) => f.write_str(message),
            Self::Unreadable(reason) => write!(f, "cannot decode the answer: {reason}"),
        }
    }
}

impl Error for AnswerError {}

/// Decodes the answer to a request.
///
/// # Errors
/// If the server refuses the request, or the line is not an answer to it.
pub fn decode_answer<R: Request>(line: &str) -> Result<R::Response, AnswerError> {
    let unreadable = |error: &dyn fmt::Display| AnswerError::Unreadable(error.to_string());
    let response = JsonrpcResponse::decode(line).map_err(|error| unreadable(&error))?.value;
    if let Some(result) = response.result {
        return R::Response::decode(result.get()).map(|answer| answer.value).map_err(|error| unreadable(&error));
    }
    let refusal = JsonrpcError::decode(line).map_err(|error| unreadable(&error))?.value;
    Err(match refusal.error {
        Some(error) => AnswerError::Refused(error.message.unwrap_or_default()),
        None => unreadable(&"the line has neither a result nor an error"),
    })
}

/// The requests of a host that are not answered yet, by id.
#[derive(Clone, Debug, Default)]
pub struct SentRequests(HashMap<u64, RequestKind>);

impl SentRequests {
    /// Adds a request, and encodes it as a line.
    pub fn open(&mut self, id: u64, request: impl Into<HostRequest>) -> String {
        let request = request.into();
        self.0.insert(id, request.kind());
        request.into_line(id)
    }

    /// Decodes the answer to a request by the type of that request. `None` if there is no such request.
    pub fn decode_answer(&mut self, id: u64, line: &str) -> Option<(RequestKind, Result<Answer, AnswerError>)> {
        self.0.remove(&id).map(|kind| (kind, kind.decode_answer(line)))
    }

    /// Removes a request whose answer is unreadable. `None` if there is no such request.
    pub fn remove(&mut self, id: u64) -> Option<RequestKind> {
        self.0.remove(&id)
    }

    /// Whether a request of this kind is not answered yet.
    #[must_use]
    pub fn contains(&self, kind: RequestKind) -> bool {
        self.0.values().any(|open| *open == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::{interrupt_turn, list_models};

    #[test]
    fn an_answer_has_the_type_of_its_request() {
        let mut sent = SentRequests::default();
        assert_eq!(sent.open(7, list_models(None)), r#"{"id":7,"method":"model/list","params":{}}"#);
        sent.open(8, interrupt_turn("t", "u"));
        assert!(sent.contains(RequestKind::ListModels));
        let (_, answer) = sent.decode_answer(7, r#"{"id":7,"result":{"data":[{"id":"m"}],"nextCursor":"c"}}"#).unwrap();
        let Ok(Answer::ListModels(page)) = answer else { panic!("{answer:?}") };
        assert_eq!(page.next_cursor.as_deref(), Some("c"));
        assert!(!sent.contains(RequestKind::ListModels));
        assert_eq!(sent.decode_answer(7, "{}"), None);
    }

    #[test]
    fn a_refusal_is_not_an_unreadable_answer() {
        let decode = |line: &str| decode_answer::<ThreadStartParams>(line).unwrap_err();
        let refused = decode(r#"{"error":{"code":-32600,"message":"no rollout found"},"id":1}"#);
        assert_eq!(refused, AnswerError::Refused("no rollout found".to_owned()));
        for line in ["no JSON", r#"{"id":1}"#, r#"{"id":1,"result":{}}"#, r#"{"id":1,"result":null}"#] {
            assert!(matches!(decode(line), AnswerError::Unreadable(_)), "{line}");
        }
    }
}
