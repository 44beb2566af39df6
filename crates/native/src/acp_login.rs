//! The logins that an ACP agent offers.

use crate::acp::InitializeResponse;

impl InitializeResponse {
    /// The ways to log in, each with its description if there is one.
    #[must_use]
    pub fn login_methods(&self) -> Vec<String> {
        let methods = self.auth_methods.iter().flatten().filter_map(|method| {
            let name = method.name.as_deref()?;
            Some(match method.description.as_deref().filter(|description| !description.is_empty()) {
                Some(description) => format!("{name} ({description})"),
                None => name.to_owned(),
            })
        });
        methods.collect()
    }
}
