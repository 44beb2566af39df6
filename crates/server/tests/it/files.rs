//! The filesystem API: reading, writing, moving and deleting files, and unpacking archives.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use futures_util::stream;
use interlingua_server::{Access, FileRoots, ServerConfig};
use interlingua_store::StoreOptions;
use reqwest::{Body, Method, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_server::{TestServer, expect_problem, start_server_with};

/// A server that serves the files of a folder, and a session `s` that works in it.
pub(crate) struct FileServer {
    pub(crate) server: TestServer,
    /// Folder that is served.
    pub(crate) root: PathBuf,
    _folder: TempDir,
}

pub(crate) async fn start_file_server() -> FileServer {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let config = ServerConfig::new(Access::Loopback).files(Some(FileRoots::new([&root]).unwrap()));
    let server = start_server_with(config, StoreOptions::default()).await;
    let create = json!({ "agent": "mock", "directory": root });
    assert_eq!(server.post("/v1/sessions/s", create).await.status(), StatusCode::OK);
    FileServer { server, root, _folder: folder }
}

impl FileServer {
    pub(crate) fn absolute(&self, path: &str) -> String {
        self.root.join(path).to_str().unwrap().to_owned()
    }

    async fn put(&self, path: &str, body: impl Into<Body>) -> Response {
        self.server.request(Method::PUT, &format!("/v1/fs/file?path={path}")).body(body).send().await.unwrap()
    }

    async fn json(&self, method: Method, path: &str) -> Value {
        let response = self.server.request(method, path).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn upload(&self, query: &str, archive: Vec<u8>) -> Response {
        let request = self.server.request(Method::POST, &format!("/v1/fs/upload-batch{query}"));
        request.header("content-type", "application/x-tar").body(archive).send().await.unwrap()
    }
}

/// An archive with these files.
pub(crate) fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        header.set_mtime(1_700_000_000);
        archive.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

#[tokio::test]
async fn a_file_is_written_read_moved_and_deleted() {
    let files = start_file_server().await;
    for query in ["", "&sessionId=s", "&session_id=s"] {
        let written = files.put(&format!("notes/a%20b.txt{query}"), "hello").await;
        assert_eq!(written.status(), StatusCode::OK);
        let path = files.absolute("notes/a b.txt");
        assert_eq!(written.json::<Value>().await.unwrap(), json!({ "path": path, "bytesWritten": 5 }));
        let read = files.server.get(&format!("/v1/fs/file?path=notes/a%20b.txt{query}")).await;
        assert_eq!(read.headers()["content-type"], "application/octet-stream");
        assert_eq!(read.headers()["content-length"], "5");
        assert_eq!(read.headers()["x-content-type-options"], "nosniff");
        assert_eq!(read.text().await.unwrap(), "hello");
        let stat = files.server.get_json(&format!("/v1/fs/stat?path=notes/a%20b.txt{query}")).await;
        assert_eq!((&stat["path"], &stat["entryType"], &stat["size"]), (&json!(path), &json!("file"), &json!(5)));
        assert!(stat["modified"].as_str().unwrap().ends_with('Z'), "{stat}");

        let moved = json!({ "from": "notes/a b.txt", "to": "done/b.txt" });
        let moved = files.server.post(&format!("/v1/fs/move?{query}"), moved).await.json::<Value>().await.unwrap();
        assert_eq!(moved, json!({ "from": path, "to": files.absolute("done/b.txt") }));
        let entries = files.server.get_json(&format!("/v1/fs/entries?path=done{query}")).await;
        assert_eq!(entries.as_array().unwrap().len(), 1, "{entries}");
        let entry = &entries[0];
        assert_eq!((&entry["name"], &entry["entryType"]), (&json!("b.txt"), &json!("file")));
        assert_eq!(entry["path"], json!(files.absolute("done/b.txt")));

        let deleted = files.json(Method::DELETE, &format!("/v1/fs/entry?path=done/b.txt{query}")).await;
        assert_eq!(deleted, json!({ "path": files.absolute("done/b.txt") }));
        let missing = files.server.get(&format!("/v1/fs/file?path=done/b.txt{query}")).await;
        expect_problem(missing, 404, "not_found").await;
    }
}

#[tokio::test]
async fn a_directory_is_created_listed_and_deleted() {
    let files = start_file_server().await;
    for _ in 0..2 {
        let created = files.json(Method::POST, "/v1/fs/mkdir?path=a/b/c").await;
        assert_eq!(created, json!({ "path": files.absolute("a/b/c") }));
    }
    fs::write(files.root.join("a/z.txt"), "z").unwrap();
    symlink("z.txt", files.root.join("a/link")).unwrap();
    symlink("b", files.root.join("a/folder-link")).unwrap();
    symlink("/etc/passwd", files.root.join("a/outside")).unwrap();
    let entries = files.server.get_json("/v1/fs/entries?path=a").await;
    let found: Vec<(&str, &str)> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["entryType"].as_str().unwrap()))
        .collect();
    let expected =
        [("b", "directory"), ("folder-link", "directory"), ("link", "file"), ("outside", "link"), ("z.txt", "file")];
    assert_eq!(found, expected);
    assert_eq!(files.server.get("/v1/fs/file?path=a/link").await.text().await.unwrap(), "z");
    let root = files.server.get_json("/v1/fs/entries").await;
    assert_eq!(root[0]["name"], "a");

    let not_empty = files.server.delete("/v1/fs/entry?path=a").await;
    let problem = expect_problem(not_empty, 400, "invalid_request").await;
    assert!(problem["detail"].as_str().unwrap().contains("recursive=true"), "{problem}");
    files.json(Method::DELETE, "/v1/fs/entry?path=a/b/c").await;
    files.json(Method::DELETE, "/v1/fs/entry?path=a&recursive=true").await;
    assert!(!files.root.join("a").exists() && fs::metadata("/etc/passwd").is_ok());
}

#[tokio::test]
async fn a_move_replaces_only_what_it_may() {
    let files = start_file_server().await;
    fs::write(files.root.join("a"), "a").unwrap();
    fs::write(files.root.join("b"), "b").unwrap();
    let refused = files.server.post("/v1/fs/move", json!({ "from": "a", "to": "b" })).await;
    let problem = expect_problem(refused, 400, "invalid_request").await;
    assert!(problem["detail"].as_str().unwrap().contains("exists already"), "{problem}");
    let moved = files.server.post("/v1/fs/move", json!({ "from": "a", "to": "b", "overwrite": true })).await;
    assert_eq!(moved.status(), StatusCode::OK);
    assert_eq!(fs::read_to_string(files.root.join("b")).unwrap(), "a");
    fs::create_dir_all(files.root.join("full/x")).unwrap();
    fs::create_dir(files.root.join("dir")).unwrap();
    let full = files.server.post("/v1/fs/move", json!({ "from": "dir", "to": "full", "overwrite": true })).await;
    let problem = expect_problem(full, 400, "invalid_request").await;
    assert!(problem["detail"].as_str().unwrap().contains("not empty"), "{problem}");
    let missing = files.server.post("/v1/fs/move", json!({ "from": "a", "to": "c" })).await;
    expect_problem(missing, 404, "not_found").await;
    let invalid = files.server.post("/v1/fs/move", json!({ "from": "a" })).await;
    expect_problem(invalid, 422, "invalid_request").await;
}

#[tokio::test]
async fn a_file_of_any_size_is_streamed_and_replaced_in_one_step() {
    const PIECE: usize = 1 << 20;
    let files = start_file_server().await;
    fs::write(files.root.join("big"), "old").unwrap();
    fs::set_permissions(files.root.join("big"), fs::Permissions::from_mode(0o750)).unwrap();
    let pieces = (0..40_u8).map(|index| Ok::<_, std::io::Error>(vec![index; PIECE]));
    let written = files.put("big", Body::wrap_stream(stream::iter(pieces))).await.json::<Value>().await.unwrap();
    assert_eq!(written["bytesWritten"], 40 * PIECE);
    assert_eq!(fs::metadata(files.root.join("big")).unwrap().permissions().mode() & 0o777, 0o750);
    let mut read = files.server.get("/v1/fs/file?path=big").await;
    let (mut length, mut last) = (0, 0);
    while let Some(piece) = read.chunk().await.unwrap() {
        assert!(piece.iter().enumerate().all(|(index, byte)| usize::from(*byte) == (length + index) / PIECE));
        (length, last) = (length + piece.len(), *piece.last().unwrap());
    }
    assert_eq!((length, last), (40 * PIECE, 39));
}

#[tokio::test]
async fn an_upload_that_is_cut_off_changes_nothing() {
    let files = start_file_server().await;
    fs::write(files.root.join("kept"), "old").unwrap();
    let pieces = [Ok(vec![b'x'; 1 << 20]), Err(std::io::Error::other("the client leaves"))];
    let request = files.server.request(Method::PUT, "/v1/fs/file?path=kept");
    let sent = request.body(Body::wrap_stream(stream::iter(pieces))).send().await;
    assert!(sent.is_err());
    // The unfinished file is removed when the server has noticed.
    let names = || -> Vec<_> { fs::read_dir(&files.root).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    while names() != ["kept"] {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(fs::read_to_string(files.root.join("kept")).unwrap(), "old");
}

#[tokio::test]
async fn an_archive_is_unpacked() {
    let files = start_file_server().await;
    let archive = tar(&[("a.txt", "a"), ("deep/er/b.sh", "b")]);
    let response = files.upload("?path=in/here&sessionId=s", archive).await;
    let unpacked = response.json::<Value>().await.unwrap();
    let paths = [files.absolute("in/here/a.txt"), files.absolute("in/here/deep/er/b.sh")];
    assert_eq!(unpacked, json!({ "paths": paths, "truncated": false }));
    assert_eq!(fs::read_to_string(&paths[1]).unwrap(), "b");
    let metadata = fs::metadata(&paths[1]).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o755);
    let modified = metadata.modified().unwrap().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(modified.as_secs(), 1_700_000_000);
}

#[tokio::test]
async fn an_archive_has_links_that_stay_in_its_directory() {
    let files = start_file_server().await;
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o4755);
    archive.append_data(&mut header, "bin/tool.js", &b"t"[..]).unwrap();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    archive.append_link(&mut header, "modules/.bin/tool", "../../bin/tool.js").unwrap();
    header.set_entry_type(tar::EntryType::Link);
    archive.append_link(&mut header, "same", "bin/tool.js").unwrap();
    header.set_entry_type(tar::EntryType::Directory);
    archive.append_data(&mut header, "empty/", std::io::empty()).unwrap();
    let response = files.upload("", archive.into_inner().unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    for path in ["modules/.bin/tool", "same"] {
        assert_eq!(files.server.get(&format!("/v1/fs/file?path={path}")).await.text().await.unwrap(), "t", "{path}");
    }
    let mode = fs::metadata(files.root.join("bin/tool.js")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "no program runs as another user");
    assert!(files.root.join("empty").is_dir());
}

#[tokio::test]
async fn a_long_list_of_unpacked_files_is_truncated() {
    let files = start_file_server().await;
    let names: Vec<String> = (0..1030).map(|index| format!("f{index}")).collect();
    let entries: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let unpacked = files.upload("", tar(&entries)).await.json::<Value>().await.unwrap();
    assert_eq!((unpacked["paths"].as_array().unwrap().len(), &unpacked["truncated"]), (1024, &json!(true)));
    assert_eq!(fs::read_dir(&files.root).unwrap().count(), 1030);
}

#[tokio::test]
async fn what_is_no_archive_is_refused() {
    let files = start_file_server().await;
    for (body, expected) in [
        (b"no archive at all".repeat(100), "not a tar archive"),
        (tar(&[("a", "content")])[..700].to_vec(), "not a tar archive"),
        ([&b"\x1f\x8b\x08\0"[..], &[0; 600]].concat(), "compressed"),
    ] {
        let problem = expect_problem(files.upload("", body).await, 400, "invalid_request").await;
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{problem}");
    }
}

#[tokio::test]
async fn parameters_are_checked() {
    let files = start_file_server().await;
    for (path, status, kind) in [
        ("/v1/fs/file", 400, "invalid_request"),
        ("/v1/fs/stat?path=", 400, "invalid_request"),
        ("/v1/fs/entries?sessionId=unknown", 404, "session_not_found"),
        ("/v1/fs/entries?sessionId=..", 400, "invalid_request"),
        ("/v1/fs/entries?path=unknown", 404, "not_found"),
        ("/v1/fs/entries?path=a&path=b", 400, "invalid_request"),
    ] {
        expect_problem(files.server.get(path).await, status, kind).await;
    }
    expect_problem(files.server.delete("/v1/fs/entry?path=a&recursive=maybe").await, 400, "invalid_request").await;
    let long = "x".repeat(300);
    expect_problem(files.put(&long, "x").await, 400, "invalid_request").await;
}

#[tokio::test]
async fn without_the_option_no_file_is_served() {
    let server = start_server_with(ServerConfig::new(Access::Loopback), StoreOptions::default()).await;
    server.create("s").await;
    for (method, path) in [
        (Method::GET, "/v1/fs/entries?sessionId=s"),
        (Method::GET, "/v1/fs/file?path=Cargo.toml&sessionId=s"),
        (Method::GET, "/v1/fs/stat?path=.&sessionId=s"),
        (Method::PUT, "/v1/fs/file?path=x&sessionId=s"),
        (Method::POST, "/v1/fs/mkdir?path=x&sessionId=s"),
        (Method::DELETE, "/v1/fs/entry?path=x&sessionId=s"),
        (Method::POST, "/v1/fs/upload-batch?sessionId=s"),
    ] {
        let refused = server.request(method, path).send().await.unwrap();
        let problem = expect_problem(refused, 404, "not_found").await;
        assert!(problem["detail"].as_str().unwrap().contains("--fs"), "{problem}");
    }
    let moved = server.post("/v1/fs/move?sessionId=s", json!({ "from": "a", "to": "b" })).await;
    expect_problem(moved, 404, "not_found").await;
}

#[tokio::test]
async fn without_a_root_only_files_of_sessions_are_served() {
    let config = ServerConfig::new(Access::Loopback).files(Some(FileRoots::default()));
    let server = start_server_with(config, StoreOptions::default()).await;
    let folder = tempfile::tempdir().unwrap();
    server.post("/v1/sessions/s", json!({ "agent": "mock", "directory": folder.path() })).await;
    assert_eq!(server.get_json("/v1/fs/entries?sessionId=s").await, json!([]));
    let problem = expect_problem(server.get("/v1/fs/entries").await, 400, "invalid_request").await;
    assert!(problem["detail"].as_str().unwrap().contains("sessionId"), "{problem}");
    // A session whose directory is gone.
    drop(folder);
    expect_problem(server.get("/v1/fs/entries?sessionId=s").await, 404, "not_found").await;
}
