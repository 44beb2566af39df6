//! L18: the data of status items.

use serde_json::Value;

use super::{Report, Rule};
use crate::{ContentPart, Item, ItemKind, StatusData, StatusLabel};

/// Checks that a status item has the data of its label in a `json` part.
pub(super) fn check_data(item: &Item, report: &mut Report) {
    if item.kind != ItemKind::Status {
        return;
    }
    for part in &item.content {
        if let ContentPart::Status { label, .. } = part
            && let Err(problem) = find_data(item, label)
        {
            let name = serde_json::to_string(label).unwrap_or_default();
            report.add(Rule::L18, format!("status {} has the label {name} but {problem}", item.item_id));
        }
    }
}

/// Finds a `json` part with the data of the label. A label without data needs none.
fn find_data(item: &Item, label: &StatusLabel) -> Result<(), String> {
    if StatusData::decode(label, &Value::Null).is_none() {
        return Ok(());
    }
    let mut problem = "no json part".to_owned();
    for part in &item.content {
        if let ContentPart::Json { json } = part {
            match StatusData::decode(label, json) {
                None | Some(Ok(_)) => return Ok(()),
                Some(Err(error)) => problem = format!("its json part does not fit: {error}"),
            }
        }
    }
    Err(problem)
}
