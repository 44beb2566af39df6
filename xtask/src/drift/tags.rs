//! Finds the tags of the members of a union.
//!
//! A tag consists of the values of properties with one possible value: `type: "system"` with `subtype: "init"` is
//! `system/init`. The properties are chosen so that as few as possible distinguish as many members as possible.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The usual tag properties, outer before inner. Other properties come after them.
const USUAL_TAG_KEYS: [&str; 7] = ["method", "type", "subtype", "kind", "role", "status", "behavior"];

/// The tag of each member, or `None` for a member without one. `resolve` follows references.
pub(super) fn find_tags<'a>(members: &[&'a Value], resolve: impl Fn(&'a Value) -> &'a Value) -> Vec<Option<String>> {
    let constants: Vec<_> = members.iter().map(|member| constants(resolve(member), &resolve)).collect();
    let keys = choose_tag_keys(&constants);
    let tag = |constants: &BTreeMap<&str, &str>| {
        let values: Vec<_> = keys.iter().filter_map(|key| constants.get(key).copied()).collect();
        (!values.is_empty()).then(|| values.join("/"))
    };
    constants.iter().map(tag).collect()
}

/// The properties that together distinguish the most members.
fn choose_tag_keys<'a>(constants: &[BTreeMap<&'a str, &'a str>]) -> Vec<&'a str> {
    let rank = |key: &str| USUAL_TAG_KEYS.iter().position(|usual| *usual == key).unwrap_or(USUAL_TAG_KEYS.len());
    let mut candidates: Vec<&'a str> = constants.iter().flat_map(BTreeMap::keys).copied().collect();
    candidates.sort_by_key(|key| (rank(key), *key));
    candidates.dedup();

    let distinct_count = |keys: &[&str]| -> usize {
        let tuples: BTreeSet<Vec<_>> =
            constants.iter().map(|member| keys.iter().map(|key| member.get(key).copied()).collect()).collect();
        tuples.len()
    };
    let covered_count = |keys: &[&str]| -> usize {
        let has_any_key = |member: &&BTreeMap<&str, &str>| keys.iter().any(|key| member.contains_key(key));
        constants.iter().filter(has_any_key).count()
    };
    let mut chosen: Vec<&'a str> = Vec::new();
    while distinct_count(&chosen) < constants.len() {
        let chosen_and = |key: &'a str| [chosen.as_slice(), &[key]].concat();
        let useful =
            candidates.iter().copied().filter(|key| distinct_count(&chosen_and(key)) > distinct_count(&chosen));
        // `max_by_key` returns the last of equal elements, so the order is reversed.
        let best = useful.rev().max_by_key(|key| (covered_count(&chosen_and(key)), distinct_count(&chosen_and(key))));
        let Some(best) = best else { break };
        chosen.push(best);
    }
    chosen.sort_by_key(|key| (rank(key), *key));
    chosen
}

/// The properties of an object with one possible value, which is a string.
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
    let only_value = |schema: &'a Value| -> Option<&'a str> {
        let schema = resolve(schema);
        match (schema.get("const"), schema.get("enum").and_then(Value::as_array).map(Vec::as_slice)) {
            (Some(Value::String(value)), _) | (None, Some([Value::String(value)])) => Some(value),
            _ => None,
        }
    };
    properties.into_iter().flatten().filter_map(|(key, schema)| Some((key.as_str(), only_value(schema)?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tags_of(members: &Value) -> Vec<Option<String>> {
        let members: Vec<_> = members.as_array().unwrap().iter().collect();
        find_tags(&members, |member| member)
    }

    #[test]
    fn one_property_is_enough_if_it_distinguishes_all_members() {
        let members = json!([
            {"properties": {"type": {"const": "a"}, "role": {"const": "x"}}},
            {"properties": {"type": {"enum": ["b"]}, "role": {"const": "y"}}},
        ]);
        assert_eq!(tags_of(&members), [Some("a".to_owned()), Some("b".to_owned())]);
    }

    #[test]
    fn a_second_property_comes_after_the_first() {
        let members = json!([
            {"properties": {"type": {"const": "system"}, "subtype": {"const": "init"}}},
            {"properties": {"type": {"const": "system"}, "subtype": {"const": "status"}}},
            {"properties": {"type": {"const": "assistant"}}},
        ]);
        let expected = ["system/init", "system/status", "assistant"].map(|tag| Some(tag.to_owned()));
        assert_eq!(tags_of(&members), expected);
    }

    #[test]
    fn members_without_constants_have_no_tag() {
        assert_eq!(tags_of(&json!([{"type": "string"}, {"properties": {"id": {"type": "string"}}}])), [None, None]);
    }
}
