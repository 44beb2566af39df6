//! Options of the runtime.

use std::path::PathBuf;
use std::time::Duration;

/// Options of a [`Runtime`](crate::Runtime).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuntimeOptions {
    /// Whether creating a session installs its agent if it is missing.
    pub auto_install: bool,
    /// How long an agent may take to end an interrupted turn before its connection is closed.
    pub interrupt_grace: Duration,
    /// How long a driver may take to end its agent before its task is aborted.
    pub stop_grace: Duration,
    /// How long an agent may take to list its modes or models.
    pub query_timeout: Duration,
    /// How long a permission request or question waits for an answer before it is denied or rejected; `None` for ever.
    pub request_timeout: Option<Duration>,
    /// Folder for the repositories with skills that sessions name; `None` if sessions may only name local folders.
    pub skills_folder: Option<PathBuf>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            auto_install: false,
            interrupt_grace: Duration::from_secs(10),
            stop_grace: Duration::from_secs(5),
            query_timeout: Duration::from_secs(60),
            request_timeout: None,
            skills_folder: None,
        }
    }
}

impl RuntimeOptions {
    /// Sets whether creating a session installs its agent if it is missing.
    #[must_use]
    pub fn auto_install(mut self, auto_install: bool) -> Self {
        self.auto_install = auto_install;
        self
    }

    /// Sets how long an agent may take to end an interrupted turn.
    #[must_use]
    pub fn interrupt_grace(mut self, grace: Duration) -> Self {
        self.interrupt_grace = grace;
        self
    }

    /// Sets how long a driver may take to end its agent.
    #[must_use]
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.stop_grace = grace;
        self
    }

    /// Sets how long a permission request or question waits for an answer before it is denied or rejected.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Sets the folder for the repositories with skills that sessions name.
    #[must_use]
    pub fn skills_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.skills_folder = folder;
        self
    }

    /// Sets how long an agent may take to list its modes or models.
    #[must_use]
    pub fn query_timeout(mut self, timeout: Duration) -> Self {
        self.query_timeout = timeout;
        self
    }
}
