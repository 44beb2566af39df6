//! The web UI of Interlingua, embedded as files.
//!
//! `cargo xtask inspector` builds the page. Without it [`FILES`] is empty, and the crate compiles without Node.

/// A file of the page.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// Path below `/ui/`, such as `assets/index-1a2b.js`.
    pub path: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The value of `ETag`: a hash of the content, in quotes.
    pub entity_tag: &'static str,
    /// Whether another content would have another path, so that the file can be cached for ever.
    pub is_immutable: bool,
    /// The content.
    pub bytes: &'static [u8],
    /// The content, compressed with Brotli.
    pub brotli: &'static [u8],
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
}

/// All files of the page; empty if it was not built.
pub static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Path of the page itself.
pub const INDEX: &str = "index.html";

/// Whether the page was built.
#[must_use]
pub fn is_built() -> bool {
    !FILES.is_empty()
}

/// Finds a file by its path.
#[must_use]
pub fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_page_has_an_index_and_the_notices_of_its_libraries() {
        if !is_built() {
            return;
        }
        let index = find(INDEX).expect("the page has an index");
        let text = std::str::from_utf8(index.bytes).unwrap();
        assert!(text.contains("/ui/assets/") && !text.contains("<style"), "{text}");
        assert!(find("notices.txt").is_some_and(|notices| !notices.bytes.is_empty()));
        for file in FILES {
            assert!(
                file.entity_tag.starts_with('"') && !file.gzip.is_empty() && !file.brotli.is_empty(),
                "{}",
                file.path
            );
        }
    }
}
