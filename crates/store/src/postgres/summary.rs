//! Writing the requests of a session that wait for an answer.

use crate::SessionKey;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::text;
use crate::summary::RequestChange;

pub(crate) const OPEN_REQUEST: &str = "INSERT INTO pending_requests (session, kind, id, data) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (session, kind, id) DO UPDATE SET data = excluded.data";
pub(crate) const CLOSE_REQUEST: &str = "DELETE FROM pending_requests WHERE session = $1 AND kind = $2 AND id = $3";
pub(crate) const CLOSE_ALL_REQUESTS: &str = "DELETE FROM pending_requests WHERE session = $1";

/// Adds a request that was opened, or removes one that was resolved.
pub(crate) async fn write_request(
    client: &DbClient,
    session: SessionKey,
    change: &RequestChange,
) -> Result<(), DbError> {
    match change {
        RequestChange::Opened { kind, id, data } => {
            client.execute(OPEN_REQUEST, &[&session.0, kind, &text::encode(id), data]).await.map(drop)
        }
        RequestChange::Resolved { kind, id } => {
            client.execute(CLOSE_REQUEST, &[&session.0, kind, &text::encode(id)]).await.map(drop)
        }
    }
}

/// Forgets the requests of a session that has ended.
pub(crate) async fn close_all_requests(client: &DbClient, session: SessionKey) -> Result<(), DbError> {
    client.execute(CLOSE_ALL_REQUESTS, &[&session.0]).await.map(drop)
}
