//! Commands that one server sends to the owner of a session: rows, which the owner takes and answers.
//!
//! The text of a command and of its result is the runtime's. A command that its server has not taken can be withdrawn.
//! One that was taken by a server which died is taken again by the next owner, so a command must not do harm when it is
//! executed twice.

use std::time::Duration;

use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::member::{IS_UNOWNED, Member};
use crate::{SessionKey, TakenCommand};

/// How long the row of a command stays after its deadline, at most.
const KEPT_SECONDS: f64 = 60.0;

/// Adds a command. Returns its id.
pub(crate) async fn insert(
    client: &DbClient,
    session: SessionKey,
    request: &str,
    sender: i64,
    deadline: Duration,
) -> Result<i64, DbError> {
    const INSERT: &str = "INSERT INTO commands (session, request, sender, expires_at) \
         VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4)) RETURNING id";
    let row = client.query_one(INSERT, &[&session.0, &request, &sender, &deadline.as_secs_f64()]).await?;
    Ok(row.get(0))
}

/// Removes a command that has a result, and returns the result.
pub(crate) async fn take_result(client: &DbClient, command: i64) -> Result<Option<String>, DbError> {
    const TAKE: &str = "DELETE FROM commands WHERE id = $1 AND result IS NOT NULL RETURNING result";
    Ok(client.query_opt(TAKE, &[&command]).await?.map(|row| row.get(0)))
}

/// Removes a command that no server has taken. False if one has.
pub(crate) async fn withdraw(client: &DbClient, command: i64) -> Result<bool, DbError> {
    let withdraw = "DELETE FROM commands WHERE id = $1 AND taken_by IS NULL";
    Ok(client.execute(withdraw, &[&command]).await? > 0)
}

/// Takes the commands for sessions that this server owns, or that have no owner.
pub(crate) async fn take(
    client: &DbClient,
    member: &Member,
    may_take_over: bool,
) -> Result<Vec<TakenCommand>, DbError> {
    let take = format!(
        "UPDATE commands AS c SET taken_by = $1 WHERE c.id IN ( \
         SELECT w.id FROM commands AS w JOIN sessions AS s ON s.key = w.session \
         WHERE w.result IS NULL AND w.taken_by IS DISTINCT FROM $1 AND w.expires_at > clock_timestamp() \
         AND (s.owner = $1 OR s.owner IS NULL OR $3 AND {IS_UNOWNED}) \
         ORDER BY w.id FOR UPDATE OF w SKIP LOCKED) RETURNING c.id, c.session, c.request, c.sender"
    );
    let lease_seconds = member.lease.as_secs_f64();
    let rows = client.query(&take, &[&member.id, &lease_seconds, &may_take_over]).await?;
    let mut commands: Vec<TakenCommand> = rows
        .iter()
        .map(|row| TakenCommand {
            id: row.get(0),
            session: SessionKey(row.get(1)),
            request: row.get(2),
            sender: row.get(3),
        })
        .collect();
    commands.sort_unstable_by_key(|command| command.id);
    Ok(commands)
}

/// Gives a command back, because another server owns its session.
pub(crate) async fn give_back(client: &DbClient, command: i64, member: i64) -> Result<(), DbError> {
    let give_back = "UPDATE commands SET taken_by = NULL WHERE id = $1 AND taken_by = $2";
    client.execute(give_back, &[&command, &member]).await.map(drop)
}

/// Stores the result of a command.
pub(crate) async fn finish(client: &DbClient, command: i64, result: &str) -> Result<(), DbError> {
    client.execute("UPDATE commands SET result = $2 WHERE id = $1", &[&command, &result]).await.map(drop)
}

/// Removes the commands whose senders do not wait any more.
pub(crate) async fn remove_expired(client: &DbClient) -> Result<(), DbError> {
    let remove = "DELETE FROM commands WHERE expires_at < clock_timestamp() - make_interval(secs => $1)";
    client.execute(remove, &[&KEPT_SECONDS]).await.map(drop)
}
