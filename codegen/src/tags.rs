//! Finding the tag keys of a union.

use std::collections::BTreeMap;

/// Keys that wire protocols commonly use as tags, in order of preference. Any other constant key can be a tag as well.
const COMMON_TAG_KEYS: [&str; 10] =
    ["type", "method", "role", "kind", "status", "subtype", "name", "_tag", "action", "mode"];

/// The constant keys of one member of a union, each with its possible values.
pub(crate) type Constants<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The members of a union, grouped by the value of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) key: &'a str,
    /// The group of each value.
    pub(crate) groups: BTreeMap<&'a str, Group<'a>>,
}

/// Members that share the value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group<'a> {
    /// One member, or several that no further key distinguishes.
    Members(Vec<usize>),
    /// Several members that another key distinguishes.
    Split(Split<'a>),
}

/// Finds the keys that distinguish `members`, which are indexes into `constants`. `None` if no key is constant in all of
/// them.
pub(crate) fn split<'a>(members: &[usize], constants: &[Constants<'a>], used: &[&str]) -> Option<Split<'a>> {
    let (first, others) = members.split_first()?;
    let key = constants[*first]
        .keys()
        .filter(|key| !used.contains(key))
        .filter(|key| others.iter().all(|member| constants[*member].contains_key(**key)))
        .map(|key| (largest_group(key, members, constants), preference(key), *key))
        .filter(|(largest, _, _)| *largest < members.len())
        .min()?
        .2;
    let mut used = used.to_vec();
    used.push(key);
    let groups = group_by_value(key, members, constants)
        .into_iter()
        .map(|(value, group)| {
            let further = if group.len() > 1 { split(&group, constants, &used) } else { None };
            (value, further.map_or(Group::Members(group), Group::Split))
        })
        .collect();
    Some(Split { key, groups })
}

fn group_by_value<'a>(key: &str, members: &[usize], constants: &[Constants<'a>]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &member in members {
        for value in &constants[member][key] {
            groups.entry(value).or_default().push(member);
        }
    }
    groups
}

fn largest_group(key: &str, members: &[usize], constants: &[Constants<'_>]) -> usize {
    group_by_value(key, members, constants).values().map(Vec::len).max().unwrap_or(0)
}

fn preference(key: &str) -> usize {
    COMMON_TAG_KEYS.iter().position(|common| *common == key).unwrap_or(COMMON_TAG_KEYS.len())
}

#[cfg(test)]
mod tests {
    use super::{Constants, Group, split};

    fn constants<'a>(pairs: &[(&'a str, &[&'a str])]) -> Constants<'a> {
        pairs.iter().map(|(key, values)| (*key, values.to_vec())).collect()
    }

    #[test]
    fn a_second_key_is_used_only_where_the_first_does_not_decide() {
        let members = [
            constants(&[("type", &["assistant"])]),
            constants(&[("type", &["system"]), ("subtype", &["init"])]),
            constants(&[("type", &["system"]), ("subtype", &["status"])]),
        ];
        let found = split(&[0, 1, 2], &members, &[]).unwrap();
        assert_eq!(found.key, "type");
        assert_eq!(found.groups["assistant"], Group::Members(vec![0]));
        let Group::Split(second) = &found.groups["system"] else { panic!("system is not split") };
        assert_eq!(second.key, "subtype");
        assert_eq!(second.groups["status"], Group::Members(vec![2]));
    }

    #[test]
    fn a_key_that_distinguishes_more_members_wins_over_a_common_one() {
        let members = [
            constants(&[("type", &["event"]), ("name", &["a"])]),
            constants(&[("type", &["event"]), ("name", &["b"])]),
        ];
        assert_eq!(split(&[0, 1], &members, &[]).unwrap().key, "name");
    }

    #[test]
    fn members_without_a_shared_constant_key_have_no_tag() {
        let members = [constants(&[("type", &["a"])]), constants(&[("kind", &["b"])])];
        assert_eq!(split(&[0, 1], &members, &[]), None);
    }
}
