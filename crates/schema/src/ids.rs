//! Identifier types.
//!
//! Each kind of id has its own type. Every event of a session has the same session id, so cloning is cheap: short ids are
//! stored inline, longer ones are shared.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The id as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id.into())
            }
        }

        impl From<SmolStr> for $name {
            fn from(id: SmolStr) -> Self {
                Self(id)
            }
        }

        impl From<Arc<str>> for $name {
            fn from(id: Arc<str>) -> Self {
                Self(id.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer).map(|id| Self(id.as_ref().into()))
            }
        }
    };
}

id! {
    /// Unique id of an event: `evt_…`.
    EventId
}

id! {
    /// Interlingua's id of the session. Chosen by the client or generated; never the agent's id.
    SessionId
}

id! {
    /// Interlingua's id of the item: `itm_…`. The agent's id of the same item is the `native_item_id`.
    ItemId
}

id! {
    /// The agent's id of a session: a session id or a thread id.
    NativeSessionId
}

id! {
    /// The agent's id of an item, or of the message that the item is part of.
    NativeItemId
}
