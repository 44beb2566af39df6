//! Markdown of agents as a part of a transcript in Markdown.
//!
//! The text is changed where it would change the document around it: HTML tags are text, headings rank below those of the
//! transcript, and a code block that is left open is closed. A list or a quotation needs nothing: what follows is not
//! indented, which ends it.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::sanitize;

/// How many levels headings are lowered: the transcript has two.
const LOWERED_LEVELS: usize = 2;
const MAX_LEVEL: usize = 6;

/// Markdown of an agent, to be put between empty lines.
pub(crate) fn embed(markdown: &str) -> String {
    let text = sanitize(markdown);
    let text = text.trim_end_matches('\n');
    // In the result, no `<` outside of code begins a tag, and one in code has no meaning. So the parser must not see any.
    let without_tags = text.replace('<', "&");
    let mut structure = Structure::default();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(&without_tags, options).into_offset_iter() {
        structure.observe(&without_tags, &event, range);
    }
    let mut edits = structure.edits;
    for (offset, tag) in text.match_indices('<') {
        let next = structure.code.partition_point(|range| range.end <= offset);
        if structure.code.get(next).is_none_or(|range| offset < range.start) {
            edits.push((offset..offset + tag.len(), "&lt;".to_owned()));
        }
    }
    let mut embedded = apply(text, edits);
    embedded.push('\n');
    if let Some(fence) = structure.open_fence {
        embedded.push_str(&fence);
        embedded.push('\n');
    }
    embedded
}

/// What of a text has to be known or changed.
#[derive(Default)]
struct Structure {
    /// Code blocks and code spans, in order.
    code: Vec<Range<usize>>,
    /// Replacements of headings.
    edits: Vec<(Range<usize>, String)>,
    /// The fence of the code block that is open at the end.
    open_fence: Option<String>,
    /// Number of lists and quotations around the current position.
    depth: usize,
    heading: Option<Heading>,
}

/// A heading that is being read.
struct Heading {
    range: Range<usize>,
    level: HeadingLevel,
    /// End of its text.
    text_end: usize,
}

impl Structure {
    fn observe(&mut self, text: &str, event: &Event<'_>, range: Range<usize>) {
        if let Some(heading) = &mut self.heading
            && !matches!(event, Event::End(_))
        {
            heading.text_end = heading.text_end.max(range.end);
        }
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                if self.depth == 0 && matches!(kind, CodeBlockKind::Fenced(_)) {
                    self.open_fence = open_fence(text, range.clone());
                }
                self.code.push(range);
            }
            Event::Code(_) => self.code.push(range),
            Event::Start(Tag::BlockQuote(_) | Tag::Item) => self.depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item) => self.depth -= 1,
            Event::Start(Tag::Heading { level, .. }) => {
                self.heading = Some(Heading { text_end: range.start, range, level: *level });
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = self.heading.take() {
                    heading.lower(text, &mut self.edits);
                }
            }
            _ => {}
        }
    }
}

impl Heading {
    /// Adds what lowers the heading.
    fn lower(self, text: &str, edits: &mut Vec<(Range<usize>, String)>) {
        let level = self.level as usize;
        let lowered = (level + LOWERED_LEVELS).min(MAX_LEVEL);
        let start = self.range.start + leading_spaces(&text[self.range.clone()]);
        if text[start..].starts_with('#') {
            return edits.push((start..start, "#".repeat(lowered - level)));
        }
        // The other kind of heading is underlined. One of several lines becomes a paragraph.
        let underline = &text[self.text_end..self.range.end];
        if text[start..self.text_end].contains('\n') {
            let first = self.text_end + underline.find(['=', '-']).unwrap_or_default();
            edits.push((first..first, "\\".to_owned()));
        } else {
            edits.push((start..start, format!("{} ", "#".repeat(lowered))));
            edits.push((self.text_end..self.text_end + underline.trim_end().len(), String::new()));
        }
    }
}

fn leading_spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// The fence of a code block that extends to the end of the text and is not closed.
fn open_fence(text: &str, block: Range<usize>) -> Option<String> {
    if !text[block.end..].trim().is_empty() {
        return None;
    }
    let mut lines = text[block].lines();
    let opening = lines.next()?.trim_start_matches(' ');
    let mark = opening.chars().next()?;
    let fence = &opening[..opening.len() - opening.trim_start_matches(mark).len()];
    let is_closing = |line: &str| {
        let indentation = leading_spaces(line);
        let run = line.trim();
        indentation < 4 && run.len() >= fence.len() && run.chars().all(|character| character == mark)
    };
    let is_closed = lines.last().is_some_and(is_closing);
    (!is_closed).then(|| fence.to_owned())
}

/// Applies replacements that do not overlap.
fn apply(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 16);
    let mut position = 0;
    for (range, replacement) in edits {
        out.push_str(&text[position..range.start]);
        out.push_str(&replacement);
        position = range.end;
    }
    out.push_str(&text[position..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text followed by a heading of the transcript: levels and texts of all headings, and the HTML.
    fn followed(markdown: &str) -> (Vec<(usize, String)>, String) {
        let document = format!("{}\n## Agent\n", embed(markdown));
        let mut headings = Vec::new();
        let mut is_heading = false;
        for event in Parser::new(&document) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    headings.push((level as usize, String::new()));
                    is_heading = true;
                }
                Event::End(TagEnd::Heading(_)) => is_heading = false,
                Event::Text(text) | Event::Code(text) if is_heading => {
                    headings.last_mut().unwrap().1.push_str(&text);
                }
                _ => {}
            }
        }
        let mut html = String::new();
        pulldown_cmark::html::push_html(&mut html, Parser::new(&document));
        (headings, html)
    }

    #[test]
    fn nothing_swallows_what_follows_and_headings_rank_below_it() {
        for markdown in [
            "```rust\nlet x<y>;",
            "```rust\nlet x<y>;\n```",
            "~~~ a`b\ncode",
            "````\n```\n</details>",
            "```",
            "```\n    ```",
            "- a\n  ```\n  code",
            "- a\n  ```\n  code\nparagraph",
            "1. a\n\n   ```\n   code",
            "> ```\n> code",
            "> ```\ncode <b>",
            "a\n```\nb\n```\n```",
            "text `code",
            "<!-- comment",
            "<div>\n```\n</div>",
            "<pre>\n# a",
            "    ```",
            "",
        ] {
            let (headings, html) = followed(markdown);
            assert_eq!(headings.last(), Some(&(2, "Agent".to_owned())), "{markdown:?}: {html}");
            assert!(headings.iter().all(|(level, _)| *level != 1), "{markdown:?}: {html}");
            assert!(!html.contains("<div") && !html.contains("<!--") && !html.contains("<b>"), "{markdown:?}: {html}");
            assert_eq!(html.matches("<pre>").count(), html.matches("</pre>").count(), "{markdown:?}: {html}");
        }
    }

    #[test]
    fn headings_are_lowered() {
        for (markdown, expected) in [
            ("# One\n\ntext", "### One\n\ntext\n"),
            ("###### Six", "###### Six\n"),
            ("##### Five #####", "###### Five #####\n"),
            ("  # Indented", "  ### Indented\n"),
            ("#", "###\n"),
            ("- # In a list\n", "- ### In a list\n"),
            ("> # Quoted", "> ### Quoted\n"),
            ("Title\n=====\ntext", "### Title\ntext\n"),
            ("Sub `x` *y*\n---", "#### Sub `x` *y*\n"),
            ("A <b>\n---", "#### A &lt;b>\n"),
            ("Two\nlines\n---", "Two\nlines\n\\---\n"),
            ("> Quoted\n> ===", "> ### Quoted\n"),
            ("```\n# code\n```", "```\n# code\n```\n"),
            ("# a\n\n# b", "### a\n\n### b\n"),
            ("#hashtag", "#hashtag\n"),
        ] {
            assert_eq!(embed(markdown), expected, "{markdown:?}");
        }
    }

    #[test]
    fn a_code_block_that_is_left_open_is_closed() {
        assert_eq!(embed("a\n```rust\nlet x<y>;\n"), "a\n```rust\nlet x<y>;\n```\n");
        assert_eq!(embed("```\na\n```\nb"), "```\na\n```\nb\n");
        assert_eq!(embed("````\n```\n</details>"), "````\n```\n</details>\n````\n");
    }

    #[test]
    fn tags_outside_of_code_are_text() {
        assert_eq!(embed("`<a>` <b> ``<c>` <d>"), "`<a>` &lt;b> ``&lt;c>` &lt;d>\n");
        assert_eq!(embed("\\`<a>\\`"), "\\`&lt;a>\\`\n");
        assert_eq!(embed("    ```\n</details>"), "    ```\n&lt;/details>\n");
        assert_eq!(embed("- a\n  ```\n  <c>\n<img src=x>"), "- a\n  ```\n  <c>\n&lt;img src=x>\n");
    }
}
