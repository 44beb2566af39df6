//! Telling the members of a union apart.
//!
//! A member's tag is what its single-valued string properties say: `type: "system"` with `subtype: "init"` is
//! `system/init`. Which properties make up the tag of a union is found by trying: as few as tell most members apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Usual tag properties, the outer before the inner; any other comes after them.
const USUAL: [&str; 7] = ["method", "type", "subtype", "kind", "role", "status", "behavior"];

/// The tag of each member, or `None` for a member that has none. `resolve` follows references.
pub(super) fn labels<'a>(members: &[&'a Value], resolve: impl Fn(&'a Value) -> &'a Value) -> Vec<Option<String>> {
    let constants: Vec<_> = members.iter().map(|member| constants(resolve(member), &resolve)).collect();
    let keys = keys(&constants);
    let label = |constants: &BTreeMap<&str, &str>| {
        let values: Vec<_> = keys.iter().filter_map(|key| constants.get(key).copied()).collect();
        (!values.is_empty()).then(|| values.join("/"))
    };
    constants.iter().map(label).collect()
}

/// The properties that together tell the most members apart.
fn keys<'a>(constants: &[BTreeMap<&'a str, &'a str>]) -> Vec<&'a str> {
    let rank = |key: &str| USUAL.iter().position(|usual| *usual == key).unwrap_or(USUAL.len());
    let mut candidates: Vec<&'a str> = constants.iter().flat_map(BTreeMap::keys).copied().collect();
    candidates.sort_by_key(|key| (rank(key), *key));
    candidates.dedup();

    let apart = |keys: &[&str]| -> usize {
        let tuples: BTreeSet<Vec<_>> =
            constants.iter().map(|of| keys.iter().map(|key| of.get(key).copied()).collect()).collect();
        tuples.len()
    };
    let covered = |keys: &[&str]| -> usize {
        let has_one = |of: &&BTreeMap<&str, &str>| keys.iter().any(|key| of.contains_key(key));
        constants.iter().filter(has_one).count()
    };
    let mut chosen: Vec<&'a str> = Vec::new();
    while apart(&chosen) < constants.len() {
        let with = |key: &'a str| [chosen.as_slice(), &[key]].concat();
        let useful = candidates.iter().copied().filter(|key| apart(&with(key)) > apart(&chosen));
        // Of equally good ones the last counts for `max_by_key`, so the order of rank is turned round.
        let best = useful.rev().max_by_key(|key| (covered(&with(key)), apart(&with(key))));
        let Some(best) = best else { break };
        chosen.push(best);
    }
    chosen.sort_by_key(|key| (rank(key), *key));
    chosen
}

/// The properties of an object that have one possible value, a string.
fn constants<'a>(member: &'a Value, resolve: &impl Fn(&'a Value) -> &'a Value) -> BTreeMap<&'a str, &'a str> {
    let mut found = BTreeMap::new();
    for part in member.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        found.extend(constants_of_object(resolve(part), resolve));
    }
    found.extend(constants_of_object(member, resolve));
    found
}

fn constants_of_object<'a>(object: &'a Value, resolve: &impl Fn(&'a Value) -> &'a Value) -> BTreeMap<&'a str, &'a str> {
    let properties = object.get("properties").and_then(Value::as_object);
    let single = |schema: &'a Value| -> Option<&'a str> {
        let schema = resolve(schema);
        match (schema.get("const"), schema.get("enum").and_then(Value::as_array).map(Vec::as_slice)) {
            (Some(Value::String(value)), _) | (None, Some([Value::String(value)])) => Some(value),
            _ => None,
        }
    };
    properties.into_iter().flatten().filter_map(|(key, schema)| Some((key.as_str(), single(schema)?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels_of(members: &Value) -> Vec<Option<String>> {
        let members: Vec<_> = members.as_array().unwrap().iter().collect();
        labels(&members, |member| member)
    }

    #[test]
    fn one_property_is_enough_where_it_tells_all_members_apart() {
        let members = json!([
            {"properties": {"type": {"const": "a"}, "role": {"const": "x"}}},
            {"properties": {"type": {"enum": ["b"]}, "role": {"const": "y"}}},
        ]);
        assert_eq!(labels_of(&members), [Some("a".to_owned()), Some("b".to_owned())]);
    }

    #[test]
    fn a_second_property_comes_after_the_first() {
        let members = json!([
            {"properties": {"type": {"const": "system"}, "subtype": {"const": "init"}}},
            {"properties": {"type": {"const": "system"}, "subtype": {"const": "status"}}},
            {"properties": {"type": {"const": "assistant"}}},
        ]);
        let expected = ["system/init", "system/status", "assistant"].map(|label| Some(label.to_owned()));
        assert_eq!(labels_of(&members), expected);
    }

    #[test]
    fn members_without_constants_have_no_tag() {
        assert_eq!(labels_of(&json!([{"type": "string"}, {"properties": {"id": {"type": "string"}}}])), [None, None]);
    }
}
