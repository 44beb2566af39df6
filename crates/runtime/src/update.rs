//! Changing a session after it was created.

use std::collections::BTreeMap;

use interlingua_schema::SessionId;
use interlingua_store::{MAX_LABELS, Session, SessionChanges, StoreError};

use crate::create::StoredConfig;
use crate::driver::{SessionOption, SessionSpec};
use crate::error::{Refusal, RuntimeError};
use crate::permission_mode::PermissionMode;
use crate::runtime::Runtime;
use crate::session::SessionRequest;

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
        let options = self.changed_options(&session, update.model, update.permission_mode.as_ref())?;
        let mode = options.permission_mode.map(|mode| mode.name().to_owned());
        let changes = changes.model(options.model).permission_mode(mode);
        if !options.concern_agent {
            self.shared.store.update_session(session.key, changes).await?;
            return Ok(());
        }
        if session.ended {
            return Err(RuntimeError::SessionEnded(session.id));
        }
        self.dispatch(&session, SessionRequest::Update(changes.into())).await
    }

    /// The model and the permission mode that differ from the session's. Checks that the agent can honour them.
    #[expect(clippy::option_option, reason = "the default is not the same as no change")]
    fn changed_options(
        &self,
        session: &Session,
        model: Option<Option<String>>,
        permission_mode: Option<&Option<String>>,
    ) -> Result<ChangedOptions, RuntimeError> {
        if model.is_none() && permission_mode.is_none() {
            return Ok(ChangedOptions::default());
        }
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
        let model = model.filter(|model| *model != spec.model);
        let permission_mode = permission_mode.filter(|mode| *mode != spec.permission_mode);
        if let Some(model) = &model {
            spec.model.clone_from(model);
        }
        if let Some(mode) = permission_mode {
            spec.permission_mode = mode;
        }
        driver.check(&spec).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
        // Choosing the model that the agent uses by default changes nothing for it.
        let current = self.status(session).model;
        let other_model = model.as_ref().filter(|model| model.as_ref() != Some(&current)).map(|_| SessionOption::Model);
        let other_mode = permission_mode.map(|_| SessionOption::PermissionMode);
        // Before its first turn, the agent does not know the session.
        if session.last_turn_status.is_some() {
            for option in [other_model, other_mode].into_iter().flatten() {
                if let Some(reason) = driver.refuse_change(option) {
                    let reason = reason.to_owned();
                    return Err(RuntimeError::ChangeRefused { session: session.id.clone(), reason });
                }
            }
        }
        let concern_agent = other_model.is_some() || other_mode.is_some();
        Ok(ChangedOptions { model, permission_mode, concern_agent })
    }
}

/// What of a session's options an update changes.
#[derive(Debug, Default)]
struct ChangedOptions {
    #[expect(clippy::option_option, reason = "the default is not the same as no change")]
    model: Option<Option<String>>,
    permission_mode: Option<PermissionMode>,
    /// Whether the agent has to be started with other options.
    concern_agent: bool,
}

/// Checks the number and the lengths of labels.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), RuntimeError> {
    if labels.len() > MAX_LABELS {
        return Err(StoreError::TooManyLabels { found: labels.len() }.into());
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
