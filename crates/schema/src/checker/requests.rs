//! L9: permissions and questions are requested once, then resolved once.

use std::collections::{BTreeSet, HashSet};

use super::{Report, Rule, hash_id};

/// All permissions, or all questions, of a session.
#[derive(Debug)]
pub(super) struct Requests {
    /// `permission` or `question`, for messages.
    noun: &'static str,
    pending: BTreeSet<String>,
    /// Hashes of all ids that were ever requested.
    requested: HashSet<u64>,
}

impl Requests {
    pub(super) fn new(noun: &'static str) -> Self {
        Self { noun, pending: BTreeSet::new(), requested: HashSet::new() }
    }

    pub(super) fn observe_requested(&mut self, id: &str, is_status_valid: bool, status: &str, report: &mut Report) {
        if !is_status_valid {
            report.add(Rule::L9, format!("{} {id} is requested but its status is {status}", self.noun));
        }
        if !self.requested.insert(hash_id(id)) {
            report.add(Rule::L9, format!("{} {id} is requested twice", self.noun));
        }
        self.pending.insert(id.to_owned());
    }

    pub(super) fn observe_resolved(&mut self, id: &str, is_status_valid: bool, status: &str, report: &mut Report) {
        if !is_status_valid {
            report.add(Rule::L9, format!("{} {id} is resolved but its status is {status}", self.noun));
        }
        if !self.pending.remove(id) {
            let problem =
                if self.requested.contains(&hash_id(id)) { "is resolved twice" } else { "was never requested" };
            report.add(Rule::L9, format!("{} {id} {problem}", self.noun));
        }
    }

    /// Reports requests that are pending when `ended`, the turn or the session, ends.
    pub(super) fn check_none_pending(&mut self, ended: &str, report: &mut Report) {
        for id in std::mem::take(&mut self.pending) {
            report.add(Rule::L9, format!("{ended} ended while {} {id} was pending", self.noun));
        }
    }
}
