//! Markdown of agents as HTML.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::text::{push_escaped, sanitize};

/// Renders Markdown. Raw HTML is shown as text. A link with another scheme than `http`, `https` or `mailto` is shown
/// without its target, and an image as a link, so that the page loads nothing.
pub(crate) fn render(markdown: &str) -> String {
    let markdown = sanitize(markdown);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // Links that are open, with whether they are shown as links.
    let mut links = Vec::new();
    let events = Parser::new_ext(&markdown, options).map(move |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let is_allowed = is_allowed_link(&dest_url);
            links.push(is_allowed);
            if is_allowed { Event::Html(open_link(&dest_url)) } else { Event::Text(CowStr::Borrowed("")) }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => match links.pop() {
            Some(true) => Event::Html(CowStr::Borrowed("</a>")),
            _ => Event::Text(CowStr::Borrowed("")),
        },
        // Line breaks of an agent are meant: it writes for a terminal.
        Event::SoftBreak => Event::HardBreak,
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut out, events);
    out
}

/// Whether a link leads to the web or to a mail address.
fn is_allowed_link(target: &str) -> bool {
    let target = target.trim_start();
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

fn open_link(target: &str) -> CowStr<'static> {
    let mut tag = "<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"".to_owned();
    push_escaped(&mut tag, target.trim_start());
    tag.push_str("\">");
    tag.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_is_text() {
        let html = render("a <b onclick=x>b</b>\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>");
        assert!(!html.contains("<b ") && !html.contains("<script") && !html.contains("<img"), "{html}");
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn only_links_to_the_web_and_to_mail_are_links() {
        for target in ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "file:///etc/passwd", "//evil", "/x"]
        {
            let html = render(&format!("[text]({target})"));
            assert!(!html.contains("<a") && html.contains("text"), "{target}: {html}");
        }
        for target in ["https://example.org/?a=1&b=%22", "HTTP://example.org", "mailto:a@example.org"] {
            let html = render(&format!("[text]({target})"));
            assert!(html.contains("<a rel=\"noopener") && html.contains(">text</a>"), "{target}: {html}");
        }
        assert!(!render("[a](<https://x.example/\"onmouseover=x>)").contains("\"onmouseover"));
    }

    #[test]
    fn an_image_is_a_link_and_not_loaded() {
        let html = render("![alt](https://example.org/x.png) ![b](javascript:x)");
        assert!(!html.contains("<img") && html.contains(">alt</a>") && html.contains('b'), "{html}");
    }

    #[test]
    fn code_lists_and_tables_are_rendered() {
        let html = render("```rust\nlet x = 1 < 2;\n```\n\n- [x] done\n\n|a|b|\n|-|-|\n|1|2|\n");
        assert!(html.contains("<pre><code class=\"language-rust\">let x = 1 &lt; 2;"), "{html}");
        assert!(html.contains("<table>") && html.contains("type=\"checkbox\""), "{html}");
    }
}
