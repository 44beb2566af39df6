//! Answers in JSON that are written piece by piece, so that a long one is never in memory as a whole.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use interlingua_store::StoreError;

use crate::problem::Problem;

/// A part of an answer.
pub(crate) type Piece = Result<Vec<u8>, StoreError>;

/// Where in an answer a writer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// Nothing is written.
    #[default]
    Start,
    /// At least one piece is written.
    Middle,
    /// Everything is written.
    Done,
}

/// Writes an answer.
pub(crate) trait AnswerWriter: Send + Sized + 'static {
    /// What the answer is, for the log.
    const NAME: &'static str;

    /// Writes the next piece. Called until the state is [`Done`](AnswerState::Done).
    fn next_piece(&mut self) -> impl Future<Output = Piece> + Send;

    fn state(&self) -> AnswerState;

    /// The answer, whose first piece is written before it begins: if that fails, the answer is a problem document.
    async fn into_answer(mut self) -> Result<Response, Problem> {
        let first = self.next_piece().await?;
        let body = match self.state() {
            AnswerState::Done => Body::from(first),
            _ => Body::from_stream(stream::unfold((Some(first), Some(self)), next_of_body)),
        };
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    }
}

/// Step of the body: the first piece, then the others; without a writer there are none.
async fn next_of_body<W: AnswerWriter>(
    (first, writer): (Option<Vec<u8>>, Option<W>),
) -> Option<(Piece, (Option<Vec<u8>>, Option<W>))> {
    if let Some(piece) = first {
        return Some((Ok(piece), (None, writer)));
    }
    let mut writer = writer.filter(|writer| writer.state() != AnswerState::Done)?;
    match writer.next_piece().await {
        Ok(piece) => Some((Ok(piece), (None, Some(writer)))),
        Err(error) => {
            // The status is sent already. The client notices the error because the answer is cut off.
            tracing::warn!(%error, "cutting off {} because the store failed", W::NAME);
            Some((Err(error), (None, None)))
        }
    }
}
