//! Decoded lines of the server.

use interlingua_native::Native as _;
use interlingua_native::codex::{JsonrpcResponse, RequestId, ServerNotification, ServerRequest, ServerRequestEnvelope};

/// A line of the server. It is decoded by trial, for hosts that do not need to be fast.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage {
    /// A request, for [`PendingRequests`](super::PendingRequests).
    Request(Box<ServerRequest>),
    /// A notification.
    Notification(Box<ServerNotification>),
    /// The answer to the host's request with this id, or its refusal.
    Answer(RequestId),
}

impl ServerMessage {
    /// Decodes a line. `None` if it is not part of the protocol.
    #[must_use]
    pub fn decode(line: &str) -> Option<Self> {
        // Only a request has both an id and a method, and only an answer has no method.
        if let Ok(decoded) = ServerRequestEnvelope::decode(line) {
            return Some(Self::Request(Box::new(decoded.value.message)));
        }
        if let Ok(decoded) = ServerNotification::decode(line) {
            return Some(Self::Notification(Box::new(decoded.value)));
        }
        JsonrpcResponse::decode(line).ok()?.value.id.map(Self::Answer)
    }

    /// Whether it is the answer to the host's request with this id.
    #[must_use]
    pub fn is_answer_to(&self, id: u64) -> bool {
        matches!(self, Self::Answer(RequestId::Number(number)) if u64::try_from(*number) == Ok(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_an_answer_or_nothing() {
        let decode = ServerMessage::decode;
        // The server counts from 0, too: this is not the answer to request 0.
        let request = decode(r#"{"method":"item/tool/call","id":0,"params":{}}"#).unwrap();
        assert!(matches!(&request, ServerMessage::Request(_)) && !request.is_answer_to(0), "{request:?}");
        let notification = decode(r#"{"method":"turn/completed","params":{"threadId":"t"}}"#);
        assert!(matches!(notification, Some(ServerMessage::Notification(_))), "{notification:?}");
        assert!(decode(r#"{"id":3,"result":{}}"#).unwrap().is_answer_to(3));
        assert!(decode(r#"{"error":{"code":-32600,"message":"no"},"id":4}"#).unwrap().is_answer_to(4));
        assert!(!decode(r#"{"id":"3","result":{}}"#).unwrap().is_answer_to(3));
        assert_eq!(decode("[]"), None);
        assert_eq!(decode("no JSON"), None);
    }
}
