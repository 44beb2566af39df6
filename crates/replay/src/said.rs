//! What a line means, as far as playing it back goes.

/// How much depends on something that the host said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It moves the conversation on; the recording waits for it.
    Flow,
    /// A host may as well leave it out, or say it at another time.
    Aside,
    /// It only asks how things are and is answered at any time.
    Look,
}

/// Something that a host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// What it means: two that mean the same are written the same here.
    pub(crate) what: String,
    pub(crate) role: Role,
    /// The id that its answer must carry: JSON text, or the number of an HTTP call. Absent when it wants none.
    pub(crate) key: Option<String>,
    /// The sessions and requests that it speaks of.
    pub(crate) ids: Vec<String>,
    /// An id that the host made up for this and that the agent may repeat.
    pub(crate) chosen: Option<String>,
    pub(crate) begins_turn: bool,
    pub(crate) interrupts: bool,
}

impl Said {
    pub(crate) fn new(what: impl Into<String>, role: Role) -> Self {
        Self {
            what: what.into(),
            role,
            key: None,
            ids: Vec::new(),
            chosen: None,
            begins_turn: false,
            interrupts: false,
        }
    }

    /// The answer to something that the agent asked.
    pub(crate) fn answer(to: &str) -> Self {
        Self::new(format!("answer {to}"), Role::Flow)
    }

    /// Whether it answers what the agent asked under this key.
    pub(crate) fn answers(&self, key: &str) -> bool {
        self.what.strip_prefix("answer ") == Some(key) || self.ids.iter().any(|id| id == key)
    }

    /// What no agent understands.
    pub(crate) fn noise() -> Self {
        Self::new("noise", Role::Aside)
    }
}

/// What there is to know of something that the agent says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sense {
    /// It answers the host's request of this key.
    pub(crate) answers: Option<String>,
    /// It asks the host something, under this key.
    pub(crate) asks: Option<String>,
    /// It takes a question back.
    pub(crate) withdraws: Option<String>,
    /// The session it belongs to.
    pub(crate) session: Option<String>,
    /// The turn that it says has begun.
    pub(crate) turn: Option<String>,
    pub(crate) ends_turn: bool,
}
