//! The versions of packages in NOTICE.

/// Replaces the version behind each of these packages in the paragraph of the agent, which names its main package. Other
/// agents may use the same packages in other versions.
///
/// A line names one package, and the version follows after spaces: `  @openai/codex   0.166.0   prints the schema`. What
/// follows the version keeps its column if there is room.
pub(super) fn with_versions(text: &str, main: &str, packages: &[(String, String)]) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        if paragraph.split_whitespace().any(|word| word == main) {
            paragraph.split_inclusive('\n').map(|line| update_line(line, packages)).collect()
        } else {
            paragraph.to_owned()
        }
    });
    paragraphs.collect::<Vec<String>>().join("\n\n")
}

fn update_line(line: &str, packages: &[(String, String)]) -> String {
    let mut words = line.split_whitespace();
    let (Some(name), Some(old)) = (words.next(), words.next()) else { return line.to_owned() };
    match packages.iter().find(|(package, _)| package == name) {
        Some((_, new)) if is_version(old) && old != new => replace_version(line, old, new),
        _ => line.to_owned(),
    }
}

fn is_version(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

fn replace_version(line: &str, old: &str, new: &str) -> String {
    let Some(start) = line.find(old) else { return line.to_owned() };
    let (before, after) = (&line[..start], &line[start + old.len()..]);
    let rest = after.trim_start_matches(' ');
    if rest.trim().is_empty() {
        return format!("{before}{new}{rest}");
    }
    let width = old.len() + after.len() - rest.len();
    // Two spaces separate the columns, even if the version has become long.
    let width = width.max(new.len() + 2);
    format!("{before}{new:<width$}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_replaced_and_columns_kept() {
        let text = "Codex, by OpenAI.\n  @openai/codex       0.166.0   prints\n  @openai/codex-sdk   0.163.0   declares\n  zod 1.0.0\n\nAmp.\n  zod 1.0.0\n";
        let packages = [("@openai/codex", "0.1690.0"), ("zod", "2.0.0"), ("absent", "1.0.0")];
        let packages = packages.map(|(name, version)| (name.to_owned(), version.to_owned()));
        let expected = "Codex, by OpenAI.\n  @openai/codex       0.1690.0  prints\n  @openai/codex-sdk   0.163.0   declares\n  zod 2.0.0\n\nAmp.\n  zod 1.0.0\n";
        assert_eq!(with_versions(text, "@openai/codex", &packages), expected);
    }
}
