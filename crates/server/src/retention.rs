//! Deleting sessions that have not changed for the time of `--retain`.

use std::time::Duration;

use tokio::time::timeout;

use crate::app::App;

/// Shortest and longest time between two searches.
const MIN_INTERVAL: Duration = Duration::from_millis(500);
const MAX_INTERVAL: Duration = Duration::from_secs(3600);

/// Searches in the time after which a session is deleted: it is deleted late by less than a tenth of it.
const SEARCHES: u32 = 20;

/// Deletes sessions from time to time, as the configuration says. Does not end.
pub(crate) async fn delete_expired_sessions(app: App) {
    let mut changes = app.subscribe_config();
    loop {
        let Some(retain) = changes.borrow_and_update().retain else {
            // The sender is part of the application.
            let _ = changes.changed().await;
            continue;
        };
        match app.runtime().delete_unchanged(retain).await {
            Ok(0) => {}
            Ok(count) => {
                app.metrics().count_expired_sessions(count);
                tracing::info!(count, retain_s = retain.as_secs(), "deleted sessions that have not changed");
            }
            Err(error) => tracing::error!(%error, "cannot delete sessions that have not changed; trying again later"),
        }
        let interval = (retain / SEARCHES).clamp(MIN_INTERVAL, MAX_INTERVAL);
        // A new configuration may have a shorter time.
        let _ = timeout(interval, changes.changed()).await;
    }
}
