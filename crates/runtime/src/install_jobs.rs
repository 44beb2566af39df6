//! Installations in progress. An installation is a job of the runtime: it goes on when the client that started it leaves,
//! and others can join it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use crate::agents::InstallOptions;
use crate::driver::Driver;
use crate::error::RuntimeError;

/// State of the last installation of an agent since the runtime was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallState {
    /// There was none.
    #[default]
    None,
    /// It runs.
    Running,
    /// It has finished.
    Done,
    /// It has failed.
    Failed,
}

impl InstallState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::None, Self::Running, Self::Done, Self::Failed];
}

/// The last installation of an agent since the runtime was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallStatus {
    /// How far it is.
    pub state: InstallState,
    /// Number of bytes on disk so far; 0 if it has not begun.
    pub bytes: u64,
    /// Why it failed; `None` if it did not.
    pub failure: Option<String>,
}

/// A job, and the options that it was started with.
#[derive(Debug)]
struct Job {
    options: InstallOptions,
    status: watch::Receiver<InstallStatus>,
}

/// The last job of each agent.
#[derive(Debug, Default)]
pub(crate) struct InstallJobs(Mutex<HashMap<&'static str, Job>>);

/// A handle to a job. Dropping it does not end the job.
#[derive(Debug)]
pub(crate) struct InstallJob {
    agent: &'static str,
    status: watch::Receiver<InstallStatus>,
}

impl InstallJob {
    /// Waits until the job has ended.
    pub(crate) async fn wait(mut self) -> Result<(), RuntimeError> {
        let ended = self.status.wait_for(|status| status.state != InstallState::Running).await;
        let reason = match ended.as_deref() {
            Ok(InstallStatus { state: InstallState::Failed, failure, .. }) => failure.clone().unwrap_or_default(),
            Ok(_) => return Ok(()),
            Err(_) => "the installation was aborted".to_owned(),
        };
        Err(RuntimeError::InstallFailed { agent: self.agent, reason })
    }
}

impl InstallJobs {
    /// Starts an installation, or joins the one that runs. Installations of different versions that are asked for by name
    /// run one after the other.
    pub(crate) fn start(&self, driver: &Arc<dyn Driver>, options: InstallOptions) -> InstallJob {
        let agent = driver.id();
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = jobs.get(agent)
            && (options.version.is_none() || job.options.version == options.version)
            && job.status.borrow().state == InstallState::Running
        {
            return InstallJob { agent, status: job.status.clone() };
        }
        let running = InstallStatus { state: InstallState::Running, ..InstallStatus::default() };
        let (sender, status) = watch::channel(running);
        let sender = Arc::new(sender);
        let progress = {
            let sender = Arc::clone(&sender);
            move |bytes| sender.send_modify(|status| status.bytes = bytes)
        };
        let installing = Arc::clone(driver).install(options.clone(), Box::new(progress));
        tokio::spawn(async move {
            let result = installing.await;
            if let Err(reason) = &result {
                tracing::warn!(agent, reason, "cannot install agent");
            }
            sender.send_modify(|status| {
                status.state = if result.is_ok() { InstallState::Done } else { InstallState::Failed };
                status.failure = result.err();
            });
        });
        jobs.insert(agent, Job { options, status: status.clone() });
        InstallJob { agent, status }
    }

    /// The last job of an agent.
    pub(crate) fn status(&self, agent: &str) -> InstallStatus {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(agent).map(|job| job.status.borrow().clone()).unwrap_or_default()
    }
}
