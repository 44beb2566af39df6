//! Files as bodies of requests and answers, in pieces.

use std::fs::File;
use std::io::{self, Read};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::error::FileError;
use super::operation_panicked;
use crate::body::BodyReader;
use crate::problem::Problem;

/// Size of the pieces in which a file is read.
const PIECE_BYTES: usize = 256 * 1024;

/// Pieces of a request body that can wait to be written.
const WAITING_PIECES: usize = 16;

/// An answer with the content of a file. It ends early, as an error, if the file gets shorter meanwhile.
pub(super) fn send_file(file: File, size: u64) -> Response {
    let pieces = stream::unfold(Some((file, size)), |state| async {
        let (file, left) = state.filter(|(_, left)| *left > 0)?;
        let read = spawn_blocking(move || read_piece(file, left)).await;
        match read.unwrap_or_else(|_| Err(io::Error::other("reading the file panicked"))) {
            Ok((piece, file)) => {
                let left = left - piece.len() as u64;
                Some((Ok(piece), Some((file, left))))
            }
            Err(error) => {
                tracing::warn!(%error, "cutting off a file that cannot be read to its end");
                Some((Err(error), None))
            }
        }
    });
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    // A browser must not run a file of an agent as a page of this server.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    response
}

fn read_piece(mut file: File, left: u64) -> io::Result<(Vec<u8>, File)> {
    let length = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
    let mut piece = Vec::with_capacity(length);
    (&mut file).take(length as u64).read_to_end(&mut piece)?;
    match piece.len() {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok((piece, file)),
    }
}

/// Reads the body of a request with a function that waits for the disk. The function fails if the body is cut off.
pub(super) async fn receive<T: Send + 'static>(
    request: Request,
    work: impl FnOnce(ReceivedBody) -> Result<T, FileError> + Send + 'static,
) -> Result<T, Problem> {
    let (sender, pieces) = mpsc::channel(WAITING_PIECES);
    let worker = spawn_blocking(move || work(ReceivedBody { pieces, current: Bytes::new(), is_complete: false }));
    let sent = send_pieces(request, sender).await;
    let result = worker.await.map_err(|_| operation_panicked())?;
    // A body that is cut off is the reason why the function failed.
    sent?;
    Ok(result?)
}

async fn send_pieces(request: Request, sender: mpsc::Sender<Option<Bytes>>) -> Result<(), Problem> {
    let mut body = BodyReader::new(request);
    loop {
        let piece = body.next().await?;
        let is_end = piece.is_none();
        // The function has failed if it does not receive any more.
        if sender.send(piece).await.is_err() || is_end {
            return Ok(());
        }
    }
}

/// The body of a request, for code that waits.
pub(super) struct ReceivedBody {
    /// `None` is the end of the body. Without it, the body was cut off.
    pieces: mpsc::Receiver<Option<Bytes>>,
    current: Bytes,
    is_complete: bool,
}

impl Read for ReceivedBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            if self.is_complete {
                return Ok(0);
            }
            match self.pieces.blocking_recv() {
                Some(Some(piece)) => self.current = piece,
                Some(None) => self.is_complete = true,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}
