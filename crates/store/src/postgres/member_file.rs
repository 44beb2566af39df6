//! The id of the server that last used a data directory.
//!
//! A data directory has one process, which holds its lock. So the process that used it before has ended, and its leases
//! can be taken over at once: sessions go on without delay when a server is started again.

use std::fs;
use std::path::Path;

use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::member::Member;

/// Name of the file in the data directory: the id of the store, and that of the server.
const FILE_NAME: &str = "fleet-member";

/// Adds this process to the servers of a store, in the place of the one that used the data directory before.
pub(crate) async fn register(
    client: &DbClient,
    member: Member,
    store_id: u32,
    data_dir: &Path,
) -> Result<Member, DbError> {
    let file = data_dir.join(FILE_NAME);
    let earlier = fs::read_to_string(&file).ok().and_then(|text| parse(&text));
    if let Some((_, server)) = earlier.filter(|(store, _)| *store == store_id) {
        Member::expire(client, server).await?;
    }
    let member = member.register(client).await?;
    if let Err(error) = fs::write(&file, format!("{store_id} {}", member.id)) {
        tracing::warn!(%error, file = %file.display(), "cannot write the file; after a crash, sessions wait until the leases expire");
    }
    Ok(member)
}

fn parse(text: &str) -> Option<(u32, i64)> {
    let (store, server) = text.split_once(' ')?;
    Some((store.parse().ok()?, server.parse().ok()?))
}
