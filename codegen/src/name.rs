//! Rust names for definitions, fields and tag values.

use heck::ToUpperCamelCase;

/// Converts any string of a schema into a type or variant name.
pub(crate) fn to_pascal_case(wire: &str) -> String {
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

/// Normalises a combined name as typify does: `ABUnion` becomes `AbUnion`.
pub(crate) fn normalize(name: &str) -> String {
    name.to_upper_camel_case()
}

/// The Rust name of a definition, without a prefix that many names of the vendor have.
pub(crate) fn definition_name(definition: &str, prefixes: &[String]) -> String {
    let short = prefixes.iter().find_map(|prefix| definition.strip_prefix(prefix.as_str()));
    to_pascal_case(short.filter(|rest| rest.starts_with(|first: char| first.is_uppercase())).unwrap_or(definition))
}

/// The words that all tag values start with; empty if there are none.
pub(crate) fn common_words(values: &[&str]) -> String {
    let split = |value: &str| value.split(['_', '-', '.', '/']).map(str::to_owned).collect::<Vec<_>>();
    let Some((first, others)) = values.split_first() else { return String::new() };
    let mut common = split(first);
    for other in others {
        let words = split(other);
        let same = common.iter().zip(&words).take_while(|(one, two)| one == two).count();
        common.truncate(same);
    }
    common.join("_")
}
