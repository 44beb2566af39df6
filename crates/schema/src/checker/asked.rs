//! L9: permissions and questions.

use std::collections::{BTreeSet, HashSet};

use super::{Report, Rule, hash};

/// The permissions, or the questions, of a session.
#[derive(Debug)]
pub(super) struct Asked {
    what: &'static str,
    pending: BTreeSet<String>,
    /// Every id ever requested, as a hash.
    requested: HashSet<u64>,
}

impl Asked {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, pending: BTreeSet::new(), requested: HashSet::new() }
    }

    pub(super) fn requested(&mut self, id: &str, status_fits: bool, report: &mut Report) {
        if !status_fits {
            report.add(Rule::L9, format!("{} {id} is requested but its status is not", self.what));
        }
        if !self.requested.insert(hash(id)) {
            report.add(Rule::L9, format!("{} {id} was requested before", self.what));
        }
        self.pending.insert(id.to_owned());
    }

    pub(super) fn resolved(&mut self, id: &str, status_fits: bool, status: &str, report: &mut Report) {
        if !status_fits {
            report.add(Rule::L9, format!("{} {id} is resolved but its status is {status}", self.what));
        }
        if !self.pending.remove(id) {
            let why = if self.requested.contains(&hash(id)) { "was resolved before" } else { "was never requested" };
            report.add(Rule::L9, format!("{} {id} {why}", self.what));
        }
    }

    pub(super) fn close(&mut self, what: &str, report: &mut Report) {
        for id in std::mem::take(&mut self.pending) {
            report.add(Rule::L9, format!("{what} ended while {} {id} was unanswered", self.what));
        }
    }
}
