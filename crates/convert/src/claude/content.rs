//! Images, documents and other parts of user messages and tool results.

use interlingua_native::claude::{
    ContentBlockParam, ContentBlockSourceBlock, ContentBlockSourceContent, DocumentBlockParam,
    DocumentBlockParamSource, ImageBlockParam, ImageBlockParamSource, MessageContentParam, SearchResultBlockParam,
};
use interlingua_schema::{ContentPart, FileAction};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are percent-encoded in a `data:` URI.
const ESCAPED_IN_URI: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parts of a message that the host sends. Blocks that are not shown (a tool result that the host provides) are left
/// out.
pub(super) fn message_parts(content: MessageContentParam) -> Vec<ContentPart> {
    match content {
        MessageContentParam::Text(text) => vec![ContentPart::text(text)],
        MessageContentParam::List(blocks) => blocks.into_iter().filter_map(block_part).collect(),
        MessageContentParam::Unknown(raw) => vec![ContentPart::Json { json: raw.to_value() }],
    }
}

/// The part for a block of a user message; `None` if the block is not shown.
pub(super) fn block_part(block: ContentBlockParam) -> Option<ContentPart> {
    match block {
        ContentBlockParam::Text(block) => Some(ContentPart::text(block.text.unwrap_or_default())),
        ContentBlockParam::Image(block) => Some(image(block)),
        ContentBlockParam::Document(block) => Some(attachment(block)),
        ContentBlockParam::SearchResult(block) => Some(ContentPart::text(search_result(block))),
        ContentBlockParam::ContainerUpload(block) => Some(file_ref(block.file_id.unwrap_or_default())),
        _ => None,
    }
}

pub(super) fn image(block: ImageBlockParam) -> ContentPart {
    let (path, mime) = match block.source {
        Some(ImageBlockParamSource::Base64(source)) => {
            let mime = source.media_type.map(|mime| mime.as_str().to_owned());
            (data_uri(mime.as_deref().unwrap_or("image/png"), &source.data.unwrap_or_default()), mime)
        }
        Some(ImageBlockParamSource::Url(source)) => (source.url.unwrap_or_default(), None),
        Some(ImageBlockParamSource::File(source)) => (source.file_id.unwrap_or_default(), None),
        _ => (String::new(), None),
    };
    ContentPart::Image { path, mime }
}

/// A document that a user attaches. It is a file even if it is text, because the user did not write that text.
fn attachment(block: DocumentBlockParam) -> ContentPart {
    match document(block) {
        ContentPart::Text { text } => {
            file_ref(format!("data:text/plain;charset=utf-8,{}", utf8_percent_encode(&text, ESCAPED_IN_URI)))
        }
        part => part,
    }
}

/// The text of a document, or a reference to it.
pub(super) fn document(block: DocumentBlockParam) -> ContentPart {
    match block.source {
        Some(DocumentBlockParamSource::Base64(source)) => {
            let mime = source.media_type.as_ref().map_or("application/pdf", |mime| mime.as_str());
            file_ref(data_uri(mime, &source.data.unwrap_or_default()))
        }
        Some(DocumentBlockParamSource::Text(source)) => ContentPart::text(source.data.unwrap_or_default()),
        Some(DocumentBlockParamSource::Content(source)) => match source.content {
            Some(ContentBlockSourceContent::Text(text)) => ContentPart::text(text),
            Some(ContentBlockSourceContent::List(blocks)) => embedded_document(blocks),
            _ => file_ref(block.title.unwrap_or_default()),
        },
        Some(DocumentBlockParamSource::Url(source)) => file_ref(source.url.unwrap_or_default()),
        Some(DocumentBlockParamSource::File(source)) => file_ref(source.file_id.unwrap_or_default()),
        _ => file_ref(block.title.unwrap_or_default()),
    }
}

/// The text of a document that consists of blocks, or its last image if it has no text.
fn embedded_document(blocks: Vec<ContentBlockSourceBlock>) -> ContentPart {
    let mut texts = Vec::new();
    let mut last_image = None;
    for block in blocks {
        match block {
            ContentBlockSourceBlock::Text(block) => texts.extend(block.text),
            ContentBlockSourceBlock::Image(block) => last_image = Some(image(block)),
            ContentBlockSourceBlock::Unknown { .. } => {}
        }
    }
    match last_image {
        Some(image) if texts.is_empty() => image,
        _ => ContentPart::text(texts.join("\n")),
    }
}

pub(super) fn search_result(block: SearchResultBlockParam) -> String {
    let heading = [block.title, block.source];
    let body = block.content.unwrap_or_default().into_iter().filter_map(|block| block.text);
    heading.into_iter().flatten().chain(body).collect::<Vec<_>>().join("\n")
}

fn file_ref(path: String) -> ContentPart {
    ContentPart::FileRef { path, action: FileAction::Read, diff: None }
}

fn data_uri(mime: &str, base64: &str) -> String {
    format!("data:{mime};base64,{base64}")
}
