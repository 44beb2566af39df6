//! Runs an agent session inside a program of your own, without a server.
//!
//! ```console
//! $ cargo run -p interlingua-examples --bin embed_runtime
//! ```
//!
//! It uses the mock agent. With `claude` or `codex` instead of `mock` it runs the real agent, provided that it is installed
//! and its credentials are in the environment.

use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{CreateSession, LaunchConfig, Runtime, RuntimeOptions, Supervisor, drivers, supervise};
use interlingua_schema::{Message, SessionId};
use interlingua_store::{RawPayloads, Store, StoreOptions};

/// The argument with which this program starts itself as the supervisor of an agent.
const SUPERVISE: &str = "supervise";

fn main() -> anyhow::Result<()> {
    // Every agent runs below a supervisor: this program again. It ends the agent when the first process is gone.
    if std::env::args().nth(1).as_deref() == Some(SUPERVISE) {
        return Ok(supervise()?);
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path(), StoreOptions::default())?;
    let launch = LaunchConfig::new(Supervisor::current_exe([SUPERVISE])?, folder.path());
    let runtime = Runtime::start(store.clone(), drivers(&launch, MockDriver::new()), RuntimeOptions::default());

    let id = SessionId::from("example");
    runtime.create(id.clone(), CreateSession::new("mock")).await?;
    let sent = runtime.send(&id, Message::new("tool")).await?;

    // Events are read from the store, from the first one of the message's turn on.
    let session = store.session(&id).await?.ok_or_else(|| anyhow::anyhow!("the session was just created"))?;
    let after = sent.wait_for_turn().await.ok_or_else(|| anyhow::anyhow!("the session ended"))?;
    let mut reader = store.reader(session.key, after, RawPayloads::Omit);
    'turn: while let Some(batch) = reader.next().await? {
        for (sequence, json) in batch.iter() {
            println!("{sequence} {json}");
            if json.contains("\"type\":\"turn.ended\"") {
                break 'turn;
            }
        }
    }
    runtime.shutdown().await;
    Ok(())
}
