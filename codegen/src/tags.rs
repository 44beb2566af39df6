//! Finding the keys that tell the members of a union apart.

use std::collections::BTreeMap;

/// Keys that wire formats use as tags, the likeliest first. Only a preference: any constant key will do.
const USUAL: [&str; 10] = ["type", "method", "role", "kind", "status", "subtype", "name", "_tag", "action", "mode"];

/// The constant keys of one member of a union, with the values each may have.
pub(crate) type Constants<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// A decision about one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) key: &'a str,
    /// What each value leads to.
    pub(crate) groups: BTreeMap<&'a str, Group<'a>>,
}

/// Members that share the value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group<'a> {
    /// One member, or several that nothing tells apart.
    Same(Vec<usize>),
    /// Several that another key tells apart.
    Split(Split<'a>),
}

/// Finds how to tell `members` (indexes into `constants`) apart; `None` if no key is constant in all of them.
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
    let groups = grouped(key, members, constants)
        .into_iter()
        .map(|(value, group)| {
            let further = if group.len() > 1 { split(&group, constants, &used) } else { None };
            (value, further.map_or(Group::Same(group), Group::Split))
        })
        .collect();
    Some(Split { key, groups })
}

fn grouped<'a>(key: &str, members: &[usize], constants: &[Constants<'a>]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &member in members {
        for value in &constants[member][key] {
            groups.entry(value).or_default().push(member);
        }
    }
    groups
}

fn largest_group(key: &str, members: &[usize], constants: &[Constants<'_>]) -> usize {
    grouped(key, members, constants).values().map(Vec::len).max().unwrap_or(0)
}

fn preference(key: &str) -> usize {
    USUAL.iter().position(|usual| *usual == key).unwrap_or(USUAL.len())
}

#[cfg(test)]
mod tests {
    use super::{Constants, Group, split};

    fn constants<'a>(pairs: &[(&'a str, &[&'a str])]) -> Constants<'a> {
        pairs.iter().map(|(key, values)| (*key, values.to_vec())).collect()
    }

    #[test]
    fn a_second_key_is_looked_at_only_where_the_first_does_not_decide() {
        let members = [
            constants(&[("type", &["assistant"])]),
            constants(&[("type", &["system"]), ("subtype", &["init"])]),
            constants(&[("type", &["system"]), ("subtype", &["status"])]),
        ];
        let found = split(&[0, 1, 2], &members, &[]).unwrap();
        assert_eq!(found.key, "type");
        assert_eq!(found.groups["assistant"], Group::Same(vec![0]));
        let Group::Split(second) = &found.groups["system"] else { panic!("system is not split") };
        assert_eq!(second.key, "subtype");
        assert_eq!(second.groups["status"], Group::Same(vec![2]));
    }

    #[test]
    fn the_key_that_decides_most_wins_over_the_usual_one() {
        let members = [
            constants(&[("type", &["event"]), ("name", &["a"])]),
            constants(&[("type", &["event"]), ("name", &["b"])]),
        ];
        assert_eq!(split(&[0, 1], &members, &[]).unwrap().key, "name");
    }

    #[test]
    fn members_without_a_common_constant_cannot_be_told_apart() {
        let members = [constants(&[("type", &["a"])]), constants(&[("kind", &["b"])])];
        assert_eq!(split(&[0, 1], &members, &[]), None);
    }
}
