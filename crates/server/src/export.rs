//! Exporting a session as a file.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use interlingua_runtime::run_cpu_bound;
use interlingua_schema::UniversalEvent;
use interlingua_store::{RawPayloads, ReadLimits, SessionKey, Store, StoreError};
use interlingua_transcript::{TranscriptFormat, TranscriptWriter};

use crate::app::App;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;

/// What is read at once. A session of any length is exported with little more memory than this.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 1024, max_bytes: 256 * 1024 };

/// The formats of an export.
#[derive(Clone, Copy)]
pub(crate) enum ExportFormat {
    JsonLines,
    Transcript(TranscriptFormat),
}

impl ExportFormat {
    /// The names in the API. The first is the default.
    pub(crate) const NAMES: [&str; 3] = ["jsonl", "markdown", "html"];

    fn parse(name: Option<&str>) -> Result<Self, Problem> {
        match name {
            None | Some("jsonl") => Ok(Self::JsonLines),
            Some("markdown") => Ok(Self::Transcript(TranscriptFormat::Markdown)),
            Some("html") => Ok(Self::Transcript(TranscriptFormat::Html)),
            Some(other) => Err(Problem::invalid(format!(
                "expected the query parameter `format` to be jsonl, markdown or html, found {other:?}"
            ))
            .field("format")),
        }
    }

    /// Content type and extension of the file.
    const fn file_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Transcript(TranscriptFormat::Html) => ("text/html; charset=utf-8", "html"),
            Self::Transcript(TranscriptFormat::Markdown) => ("text/markdown; charset=utf-8", "md"),
            _ => ("application/x-ndjson", "jsonl"),
        }
    }
}

/// Exports a session as a file: its events as JSON lines, or a transcript for people as Markdown or as one HTML file
/// without scripts. It contains what the session had at the time of the request.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/export",
    tag = "events",
    operation_id = "exportSession",
    params(
        ("id" = String, Path, description = "Session id"),
        ("format" = Option<String>, Query, description = "`jsonl` (the default), `markdown` or `html`"),
        ("include_raw" = Option<bool>, Query, description = "Whether the events of `jsonl` include their native payload"),
    ),
    responses((status = 200, description = "The file, as an attachment", content(
        (String = "application/x-ndjson"),
        (String = "text/markdown"),
        (String = "text/html"),
    )))
)]
pub(crate) async fn export(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
) -> Result<Response, Problem> {
    query.expect_only(&["format", "include_raw"])?;
    let format = ExportFormat::parse(query.text("format")?)?;
    let raw = match format {
        ExportFormat::JsonLines => query.raw_payloads()?,
        ExportFormat::Transcript(_) => RawPayloads::Omit,
    };
    let session = app.session(&id).await?;
    let title = session.title.clone().unwrap_or_else(|| id.as_str().to_owned());
    let encoder = match format {
        ExportFormat::JsonLines => Encoder::Lines,
        ExportFormat::Transcript(format) => {
            Encoder::Transcript(Box::new(TranscriptWriter::new(Vec::new(), format).title(title)))
        }
    };
    let mut export =
        Export { store: app.store().clone(), session: session.key, after: 0, last: session.event_count, raw, encoder };
    // An error of the first read is a problem document.
    let first = export.next_piece().await?.unwrap_or_default();
    let body = Body::from_stream(stream::unfold((Some(first), export), stream_export));
    let (content_type, extension) = format.file_type();
    let disposition = format!("attachment; filename=\"{}.{extension}\"", file_stem(id.as_str()));
    let mut response = ([(CONTENT_TYPE, content_type)], body).into_response();
    let headers = response.headers_mut();
    // A file name of ASCII letters is a valid header.
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // If a browser renders the file anyway, it gets an opaque origin and no scripts.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    Ok(response)
}

/// The session id as the name of a file.
fn file_stem(id: &str) -> String {
    let name: String = id
        .chars()
        .take(100)
        .map(
            |character| {
                if character.is_ascii_alphanumeric() || matches!(character, '-' | '_') { character } else { '_' }
            },
        )
        .collect();
    format!("session-{name}")
}

type Piece = Result<Vec<u8>, StoreError>;

/// Step of the body stream: the first piece, which was read before the answer started, then the others.
async fn stream_export((first, mut export): (Option<Vec<u8>>, Export)) -> Option<(Piece, (Option<Vec<u8>>, Export))> {
    if let Some(piece) = first {
        return Some((Ok(piece), (None, export)));
    }
    let piece = match export.next_piece().await {
        Ok(piece) => Ok(piece?),
        Err(error) => {
            // The status is sent already. The client notices the error because the answer is cut off.
            tracing::warn!(%error, "cutting off an export because the store failed");
            export.encoder = Encoder::Done;
            Err(error)
        }
    };
    Some((piece, (None, export)))
}

/// An export that is being sent.
struct Export {
    store: Store,
    session: SessionKey,
    after: u64,
    /// Sequence of the session's last event at the time of the request.
    last: u64,
    raw: RawPayloads,
    encoder: Encoder,
}

enum Encoder {
    Lines,
    Transcript(Box<TranscriptWriter<Vec<u8>>>),
    Done,
}

impl Export {
    /// The next bytes of the file; `None` at its end.
    async fn next_piece(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        while self.after < self.last {
            let batch = self.store.read(self.session, self.after, READ_LIMITS, self.raw).await?;
            let Some(last) = batch.last_sequence() else {
                // The session was deleted in the meantime.
                break;
            };
            self.after = last;
            let piece = run_cpu_bound(batch.byte_len(), || {
                let events = batch.iter().filter(|(sequence, _)| *sequence <= self.last);
                self.encoder.encode(events.map(|(_, json)| json), batch.byte_len())
            });
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
        Ok(match std::mem::replace(&mut self.encoder, Encoder::Done) {
            // Writing to memory does not fail.
            Encoder::Transcript(transcript) => transcript.finish().ok(),
            Encoder::Lines | Encoder::Done => None,
        })
    }
}

impl Encoder {
    fn encode<'a>(&mut self, events: impl Iterator<Item = &'a str>, byte_len: usize) -> Vec<u8> {
        match self {
            Self::Lines => {
                let mut piece = Vec::with_capacity(byte_len + READ_LIMITS.max_events);
                for json in events {
                    piece.extend_from_slice(json.as_bytes());
                    piece.push(b'\n');
                }
                piece
            }
            Self::Transcript(transcript) => {
                for json in events {
                    // Writing to memory does not fail.
                    let _ = match serde_json::from_str::<UniversalEvent>(json) {
                        Ok(event) => transcript.write_event(&event),
                        Err(error) => transcript.write_unparsed(&error.to_string()),
                    };
                }
                std::mem::take(transcript.get_mut())
            }
            Self::Done => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::file_stem;

    #[test]
    fn a_file_name_has_only_letters_digits_and_dashes() {
        assert_eq!(file_stem("a-1_B"), "session-a-1_B");
        assert_eq!(file_stem("../etc/\"\r\n€"), "session-___etc_____");
        assert_eq!(file_stem(&"x".repeat(256)).len(), 108);
    }
}
