//! Changing a session after it was created.

use std::collections::BTreeMap;

use interlingua_schema::SessionId;
use interlingua_store::{Session, SessionChanges};

use crate::create::StoredConfig;
use crate::driver::{SessionOption, SessionSpec};
use crate::error::{Refusal, RuntimeError};
use crate::permission_mode::PermissionMode;
use crate::runtime::Runtime;
use crate::session::SessionCommand;

/// Maximum number of labels of a session.
const MAX_LABELS: usize = 64;
/// Maximum length of the name of a label.
const MAX_LABEL_NAME_BYTES: usize = 128;
/// Maximum length of the value of a label.
const MAX_LABEL_VALUE_BYTES: usize = 1024;

/// Changes of a session. A field that is `None` does not change; `Some(None)` goes back to the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateSession {
    /// Title for people.
    pub title: Option<Option<String>>,
    /// Labels to set, or to remove where the value is `None`. Other labels stay.
    pub labels: BTreeMap<String, Option<String>>,
    /// The model.
    pub model: Option<Option<String>>,
    /// What the agent may do without asking.
    pub permission_mode: Option<Option<String>>,
}

impl UpdateSession {
    interlingua_schema::setters! {
        pub title: Option<Option<String>>,
        pub labels: BTreeMap<String, Option<String>>,
        pub model: Option<Option<String>>,
        pub permission_mode: Option<Option<String>>,
    }
}

impl Runtime {
    /// Changes a session. The agent gets a new model or permission mode with the next message. Nothing changes if any
    /// part of it is refused.
    ///
    /// # Errors
    /// If the session does not exist, a value is invalid, or the agent cannot change it now.
    pub async fn update(&self, id: &SessionId, update: UpdateSession) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        let mut labels = session.labels.clone();
        for (name, value) in &update.labels {
            match value {
                Some(value) => labels.insert(name.clone(), value.clone()),
                None => labels.remove(name),
            };
        }
        check_labels(&labels)?;
        let changes = SessionChanges::default().title(update.title).labels(update.labels);
        if update.model.is_none() && update.permission_mode.is_none() {
            self.shared.store.update_session(session.key, changes).await?;
            return Ok(());
        }
        if session.ended {
            return Err(RuntimeError::SessionEnded(session.id));
        }
        let permission_mode = self.check_options(&session, update.model.as_ref(), update.permission_mode.as_ref())?;
        let changes = changes.model(update.model).permission_mode(permission_mode.map(|mode| mode.name().to_owned()));
        self.send_command(&session, |reply_to| SessionCommand::Update { changes, reply_to }).await
    }

    /// Checks that the agent can honour a new model and permission mode. Returns the mode.
    fn check_options(
        &self,
        session: &Session,
        model: Option<&Option<String>>,
        permission_mode: Option<&Option<String>>,
    ) -> Result<Option<PermissionMode>, RuntimeError> {
        let driver = self.driver(&session.agent)?;
        let config = StoredConfig::decode(session);
        let mut spec = SessionSpec::from_stored(session, &config, &self.session_secrets(session.key));
        let permission_mode = match permission_mode {
            None => None,
            Some(None) => Some(PermissionMode::Default),
            Some(Some(name)) => Some(PermissionMode::from_name(name).ok_or_else(|| {
                let known = PermissionMode::ALL.map(PermissionMode::name);
                Refusal::mode("permissionMode", name.as_str(), &known).into_runtime_error(driver.id())
            })?),
        };
        let changed_model = model.filter(|model| **model != spec.model).map(|_| SessionOption::Model);
        let changed_mode =
            permission_mode.filter(|mode| *mode != spec.permission_mode).map(|_| SessionOption::PermissionMode);
        if let Some(model) = model {
            spec.model.clone_from(model);
        }
        if let Some(mode) = permission_mode {
            spec.permission_mode = mode;
        }
        driver.check(&spec).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
        // Before its first turn, the agent does not know the session.
        if session.last_turn_status.is_some() {
            for option in [changed_model, changed_mode].into_iter().flatten() {
                if let Some(reason) = driver.refuse_change(option) {
                    let reason = reason.to_owned();
                    return Err(RuntimeError::ChangeRefused { session: session.id.clone(), reason });
                }
            }
        }
        Ok(permission_mode)
    }
}

/// Checks the number and the lengths of labels.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), RuntimeError> {
    if labels.len() > MAX_LABELS {
        let detail = format!("expected at most {MAX_LABELS} labels, found {}", labels.len());
        return Err(RuntimeError::field("labels", detail));
    }
    for (name, value) in labels {
        let is_name = !name.is_empty()
            && name.len() <= MAX_LABEL_NAME_BYTES
            && !name.contains('=')
            && !name.chars().any(char::is_control);
        if !is_name {
            let detail = format!(
                "expected label names of 1 to {MAX_LABEL_NAME_BYTES} bytes without `=` and control characters, found \
                 {name:?}"
            );
            return Err(RuntimeError::field("labels", detail));
        }
        if value.len() > MAX_LABEL_VALUE_BYTES {
            let detail = format!(
                "expected the value of label `{name}` to have at most {MAX_LABEL_VALUE_BYTES} bytes, found {}",
                value.len()
            );
            return Err(RuntimeError::field("labels", detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_a_usable_name_are_refused() {
        let label = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        for (name, value) in [("", "v"), ("a=b", "v"), ("a\nb", "v"), (&"n".repeat(129), "v"), ("n", &"v".repeat(1025))]
        {
            assert!(check_labels(&label(name, value)).is_err(), "{name:?}");
        }
        assert!(check_labels(&label("team/project", "")).is_ok());
    }
}
