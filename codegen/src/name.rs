//! Rust names a person would choose.

use heck::ToUpperCamelCase;

/// A type or variant name from anything that stands on the wire.
pub(crate) fn pascal(wire: &str) -> String {
    let mut words = String::with_capacity(wire.len());
    for character in wire.chars() {
        match character {
            '+' => words.push_str(" plus "),
            '-' | '_' | '.' | '/' | ':' | ' ' | '$' => words.push(' '),
            other if other.is_alphanumeric() => words.push(other),
            _ => words.push(' '),
        }
    }
    let name = words.to_upper_camel_case();
    match name.chars().next() {
        None => "Empty".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("N{name}"),
        Some(_) if name == "Self" => "SelfValue".to_owned(),
        Some(_) => name,
    }
}

/// A name put together of others, as typify will write it: `ABUnion` is `AbUnion`.
pub(crate) fn settled(name: &str) -> String {
    name.to_upper_camel_case()
}

/// The name of a definition, without a prefix that all of a vendor's names share.
pub(crate) fn of_definition(definition: &str, prefixes: &[String]) -> String {
    let short = prefixes.iter().find_map(|prefix| definition.strip_prefix(prefix.as_str()));
    pascal(short.filter(|rest| rest.starts_with(|first: char| first.is_uppercase())).unwrap_or(definition))
}

/// What several tag values have in common, word by word; empty if nothing.
pub(crate) fn shared_words(values: &[&str]) -> String {
    let split = |value: &str| value.split(['_', '-', '.', '/']).map(str::to_owned).collect::<Vec<_>>();
    let Some((first, others)) = values.split_first() else { return String::new() };
    let mut shared = split(first);
    for other in others {
        let words = split(other);
        let same = shared.iter().zip(&words).take_while(|(one, two)| one == two).count();
        shared.truncate(same);
    }
    shared.join("_")
}
