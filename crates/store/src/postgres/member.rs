//! A server among those that share the store: its row, its heartbeat, and the leases that it takes.
//!
//! All times are those of the database, so the clocks of the servers do not matter. A lease lasts as long as the row of
//! its server: one heartbeat renews all leases of a server.
//!
//! After a restart of the database, no lease counts as expired before all servers had the time to renew theirs.

use std::time::Duration;

use crate::SessionKey;
use crate::lease::AgentPlace;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::session::ANY_SERVER;

/// What this process is for other servers.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: i64,
    pub(crate) name: String,
    /// The shared home of agents that this server uses.
    pub(crate) home: Option<String>,
    pub(crate) lease: Duration,
    /// How long a server may be away before the turns of sessions that need its files fail.
    pub(crate) absence_limit: Duration,
}

/// A lease that was taken, and what decides where the agent runs.
pub(crate) struct AcquiredRow {
    pub(crate) epoch: i64,
    placement: Option<String>,
    home: Option<String>,
    /// Whether the session has values that may be secret, and whether this server or another one that runs has them.
    has_secrets: bool,
    holds_secrets: bool,
    is_held_elsewhere: bool,
    /// Seconds since a server was seen that has the session's files; `None` if none was ever seen.
    seconds_unseen: Option<f64>,
}

/// Whether the session `s` has no owner that counts as running. Its parameter is the duration of a lease in seconds.
///
/// A lease does not expire before the database has been up for its duration, unless the server is known to have ended.
pub(crate) const IS_UNOWNED: &str = "(s.owner IS NULL OR NOT EXISTS (SELECT 1 FROM servers AS o WHERE o.id = s.owner \
     AND (o.expires_at > clock_timestamp() OR o.expires_at > '-infinity' \
     AND pg_postmaster_start_time() + make_interval(secs => $2) > clock_timestamp())))";

/// Condition on a server `v`: it has the files of the session `s`.
pub(crate) const HAS_FILES: &str =
    "(v.name = s.placement OR s.placement = 'any' AND (s.home IS NULL OR v.home = s.home) OR s.placement IS NULL)";

impl Member {
    fn lease_seconds(&self) -> f64 {
        self.lease.as_secs_f64()
    }

    /// Adds the server's row. Returns the member with its id.
    pub(crate) async fn register(self, client: &DbClient) -> Result<Self, DbError> {
        const INSERT: &str = "INSERT INTO servers (name, home, expires_at) \
             VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3)) RETURNING id";
        let row = client.query_one(INSERT, &[&self.name, &self.home, &self.lease_seconds()]).await?;
        Ok(Self { id: row.get(0), ..self })
    }

    /// Lets the leases of an earlier process expire, which is known to have ended.
    pub(crate) async fn expire(client: &DbClient, server: i64) -> Result<(), DbError> {
        client.execute("UPDATE servers SET expires_at = '-infinity' WHERE id = $1", &[&server]).await.map(drop)
    }

    /// Renews the leases. Returns whether they had expired.
    pub(crate) async fn renew(&self, client: &DbClient) -> Result<bool, DbError> {
        const RENEW: &str = "WITH old AS (SELECT id, expires_at FROM servers WHERE id = $1) \
             UPDATE servers AS s SET expires_at = clock_timestamp() + make_interval(secs => $2) \
             FROM old WHERE s.id = old.id RETURNING old.expires_at < clock_timestamp()";
        const RESTORE: &str = "INSERT INTO servers (id, name, home, expires_at) \
             VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4)) ON CONFLICT (id) DO NOTHING";
        if let Some(row) = client.query_opt(RENEW, &[&self.id, &self.lease_seconds()]).await? {
            return Ok(row.get(0));
        }
        // Removed by another server, because it was not seen for very long.
        client.execute(RESTORE, &[&self.id, &self.name, &self.home, &self.lease_seconds()]).await?;
        Ok(true)
    }

    /// The epochs of the sessions that the database says this server owns, among these.
    pub(crate) async fn owned(&self, client: &DbClient, sessions: &[i64]) -> Result<Vec<(SessionKey, i64)>, DbError> {
        let query = "SELECT key, epoch FROM sessions WHERE owner = $1 AND key = ANY($2)";
        let rows = client.query(query, &[&self.id, &sessions]).await?;
        Ok(rows.iter().map(|row| (SessionKey(row.get(0)), row.get(1))).collect())
    }

    /// Takes a session that has no owner, or whose owner is gone, if it `may_take_over`. `None` if it cannot be taken.
    pub(crate) async fn acquire(
        &self,
        client: &DbClient,
        session: SessionKey,
        may_take_over: bool,
    ) -> Result<Option<AcquiredRow>, DbError> {
        let acquire = format!(
            "UPDATE sessions AS s SET owner = $1, epoch = s.epoch + 1 WHERE s.key = $3 AND NOT s.ended \
             AND (s.owner IS NULL OR s.owner = $1 OR $4 AND {IS_UNOWNED}) \
             RETURNING s.epoch, s.placement, s.home, s.has_secrets, \
             EXISTS (SELECT 1 FROM secret_holders AS h WHERE h.session = s.key AND h.server = $1), \
             EXISTS (SELECT 1 FROM secret_holders AS h JOIN servers AS v ON v.id = h.server \
             WHERE h.session = s.key AND h.server <> $1 AND v.expires_at > clock_timestamp()), \
             (SELECT extract(epoch FROM clock_timestamp() - max(v.expires_at))::float8 FROM servers AS v \
             WHERE {HAS_FILES})"
        );
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&self.id, &self.lease_seconds(), &session.0, &may_take_over];
        let row = client.query_opt(&acquire, &params).await?;
        Ok(row.map(|row| AcquiredRow {
            epoch: row.get(0),
            placement: row.get(1),
            home: row.get(2),
            has_secrets: row.get(3),
            holds_secrets: row.get(4),
            is_held_elsewhere: row.get(5),
            seconds_unseen: row.get(6),
        }))
    }

    /// Where the agent of a session can run.
    pub(crate) fn place(&self, row: &AcquiredRow) -> AgentPlace {
        if row.has_secrets && row.is_held_elsewhere && !row.holds_secrets {
            return AgentPlace::Elsewhere;
        }
        let needed = match row.placement.as_deref() {
            None => return AgentPlace::Here,
            Some(ANY_SERVER) => match &row.home {
                None => return AgentPlace::Here,
                Some(home) if self.home.as_ref() == Some(home) => return AgentPlace::Here,
                Some(_) => "the servers that share its --resume-home".to_owned(),
            },
            Some(name) if name == self.name => return AgentPlace::Here,
            Some(name) => format!("server `{name}`"),
        };
        let limit = self.absence_limit.as_secs_f64();
        if row.seconds_unseen.is_some_and(|unseen| unseen < limit) {
            return AgentPlace::Elsewhere;
        }
        AgentPlace::Nowhere(format!(
            "the agent's session files are on {needed}, which has not been seen for {limit:.0} s; start it again and repeat \
             the message, or create a new session"
        ))
    }

    /// Gives all leases back, and removes the server's row.
    pub(crate) async fn leave(&self, client: &DbClient) -> Result<(), DbError> {
        client.execute("UPDATE sessions SET owner = NULL WHERE owner = $1", &[&self.id]).await?;
        client.execute("DELETE FROM secret_holders WHERE server = $1", &[&self.id]).await?;
        // The row stays, because it says when the server was seen last, for sessions that need its files.
        client.execute("UPDATE servers SET expires_at = clock_timestamp() WHERE id = $1", &[&self.id]).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        Member {
            id: 1,
            name: "a".to_owned(),
            home: Some("h1".to_owned()),
            lease: Duration::from_secs(10),
            absence_limit: Duration::from_secs(60),
        }
    }

    fn row(placement: Option<&str>, home: Option<&str>, seconds_unseen: Option<f64>) -> AcquiredRow {
        AcquiredRow {
            epoch: 1,
            placement: placement.map(str::to_owned),
            home: home.map(str::to_owned),
            has_secrets: false,
            holds_secrets: false,
            is_held_elsewhere: false,
            seconds_unseen,
        }
    }

    #[test]
    fn an_agent_runs_where_its_files_are() {
        for (placement, home) in [(None, None), (Some("any"), None), (Some("any"), Some("h1")), (Some("a"), None)] {
            assert_eq!(member().place(&row(placement, home, None)), AgentPlace::Here, "{placement:?} {home:?}");
        }
        for (placement, home) in [(Some("any"), Some("h2")), (Some("b"), None)] {
            // A server that runs has an expiry in the future.
            for unseen in [-8.0, 0.0, 59.0] {
                assert_eq!(member().place(&row(placement, home, Some(unseen))), AgentPlace::Elsewhere);
            }
            for unseen in [None, Some(61.0)] {
                assert!(matches!(member().place(&row(placement, home, unseen)), AgentPlace::Nowhere(_)));
            }
        }
        let AgentPlace::Nowhere(reason) = member().place(&row(Some("b"), None, None)) else { panic!("it is gone") };
        assert!(reason.contains("server `b`") && reason.contains("60 s"), "{reason}");
    }

    #[test]
    fn an_agent_runs_where_its_secrets_are() {
        let mut row = row(Some("any"), None, None);
        row.has_secrets = true;
        assert_eq!(member().place(&row), AgentPlace::Here);
        row.is_held_elsewhere = true;
        assert_eq!(member().place(&row), AgentPlace::Elsewhere);
        row.holds_secrets = true;
        assert_eq!(member().place(&row), AgentPlace::Here);
    }
}
