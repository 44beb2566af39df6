//! Requests of the filesystem API that try to leave the folder. Every one is refused, and nothing outside is read or
//! changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tar::EntryType;

use crate::files::{FileServer, start_file_server};

const SECRET: &str = "s3cret-outside";

/// A request that is refused.
struct Escape {
    method: Method,
    /// Path and query. `{outside}` and `{root}` stand for absolute paths.
    target: &'static str,
    body: Body,
}

enum Body {
    None,
    File,
    Json(Value),
    Tar(Vec<u8>),
}

const fn get(target: &'static str) -> Escape {
    Escape { method: Method::GET, target, body: Body::None }
}

const fn put(target: &'static str) -> Escape {
    Escape { method: Method::PUT, target, body: Body::File }
}

const fn post(target: &'static str) -> Escape {
    Escape { method: Method::POST, target, body: Body::None }
}

const fn delete(target: &'static str) -> Escape {
    Escape { method: Method::DELETE, target, body: Body::None }
}

fn rename(from: &str, to: &str) -> Escape {
    let body = Body::Json(json!({ "from": from, "to": to, "overwrite": true }));
    Escape { method: Method::POST, target: "/v1/fs/move?", body }
}

fn unpack(entries: &[Entry]) -> Escape {
    Escape { method: Method::POST, target: "/v1/fs/upload-batch?path=dir", body: Body::Tar(archive(entries)) }
}

/// An entry of an archive that no tool would write: type, path, and the target of a link.
type Entry = (EntryType, &'static str, &'static str);

fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (kind, path, target) in entries {
        let content: &[u8] = if *kind == EntryType::Regular { b"written" } else { b"" };
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        // Not `set_path`, which refuses such paths.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// All escapes. Paths that do not exist inside are among them: an encoded `..` must not become one.
fn escapes() -> Vec<Escape> {
    let file = EntryType::Regular;
    vec![
        // `..`, in every spelling.
        get("/v1/fs/file?path=../outside/secret.txt"),
        get("/v1/fs/file?path=./../outside/secret.txt"),
        get("/v1/fs/file?path=dir/../../outside/secret.txt"),
        get("/v1/fs/file?path=dir/./../../outside/secret.txt"),
        get("/v1/fs/file?path=file.txt/../../outside/secret.txt"),
        get("/v1/fs/file?path=..%2Foutside%2Fsecret.txt"),
        get("/v1/fs/file?path=%2e%2e/outside/secret.txt"),
        get("/v1/fs/file?path=%2e%2e%2foutside%2fsecret.txt"),
        get("/v1/fs/file?path=.%2e/outside/secret.txt"),
        get("/v1/fs/file?path=%252e%252e/outside/secret.txt"),
        get("/v1/fs/file?path=..%5coutside%5csecret.txt"),
        get("/v1/fs/file?path=....//outside/secret.txt"),
        get("/v1/fs/file?path=%c0%ae%c0%ae/outside/secret.txt"),
        get("/v1/fs/stat?path=../outside"),
        get("/v1/fs/entries?path=.."),
        get("/v1/fs/entries?path=dir/.."),
        // Absolute paths.
        get("/v1/fs/file?path=/etc/passwd"),
        get("/v1/fs/file?path=//etc/passwd"),
        get("/v1/fs/file?path={outside}/secret.txt"),
        get("/v1/fs/file?path={root}/../outside/secret.txt"),
        get("/v1/fs/file?path={root}-evil/secret.txt"),
        get("/v1/fs/file?path=file:///etc/passwd"),
        get("/v1/fs/file?path=~/.ssh/id_rsa"),
        get("/v1/fs/entries?path=/"),
        get("/v1/fs/entries?path=/proc"),
        // NUL.
        get("/v1/fs/file?path=file.txt%00.png"),
        get("/v1/fs/file?path=..%00/outside/secret.txt"),
        put("/v1/fs/file?path=new%00.txt"),
        // Symbolic links.
        get("/v1/fs/file?path=out/secret.txt"),
        get("/v1/fs/file?path=out_file"),
        get("/v1/fs/file?path=abs/secret.txt"),
        get("/v1/fs/file?path=abs_file"),
        get("/v1/fs/file?path=up/outside/secret.txt"),
        get("/v1/fs/file?path=chain/secret.txt"),
        get("/v1/fs/file?path=dir/back/outside/secret.txt"),
        get("/v1/fs/file?path=loop"),
        get("/v1/fs/stat?path=out/secret.txt"),
        get("/v1/fs/entries?path=out"),
        get("/v1/fs/entries?path=up"),
        put("/v1/fs/file?path=out/new.txt"),
        put("/v1/fs/file?path=out_file"),
        put("/v1/fs/file?path=dangling"),
        put("/v1/fs/file?path=abs/new.txt"),
        put("/v1/fs/file?path=up/outside/new.txt"),
        put("/v1/fs/file?path=chain/deep/new.txt"),
        // `/proc`, devices, pipes and sockets.
        get("/v1/fs/file?path=proc/self/environ"),
        get("/v1/fs/file?path=proc_root/etc/passwd"),
        get("/v1/fs/entries?path=proc"),
        get("/v1/fs/file?path=null"),
        get("/v1/fs/file?path=fifo"),
        get("/v1/fs/file?path=socket"),
        put("/v1/fs/file?path=null"),
        put("/v1/fs/file?path=fifo"),
        put("/v1/fs/file?path=proc/self/mem"),
        // Writing elsewhere.
        put("/v1/fs/file?path=../outside/new.txt"),
        put("/v1/fs/file?path=%2e%2e%2foutside%2fnew.txt"),
        put("/v1/fs/file?path={outside}/new.txt"),
        put("/v1/fs/file?path=new/../../outside/new.txt"),
        put("/v1/fs/file?path=."),
        post("/v1/fs/mkdir?path=../outside/made"),
        post("/v1/fs/mkdir?path=out/made"),
        post("/v1/fs/mkdir?path=up/outside/made"),
        post("/v1/fs/mkdir?path=dangling/made"),
        rename("file.txt", "../outside/moved.txt"),
        rename("file.txt", "out/moved.txt"),
        rename("file.txt", "{outside}/moved.txt"),
        rename("out/secret.txt", "stolen.txt"),
        rename("../outside/secret.txt", "stolen.txt"),
        rename("file.txt", "."),
        delete("/v1/fs/entry?path=../outside/secret.txt"),
        delete("/v1/fs/entry?path=out/secret.txt"),
        delete("/v1/fs/entry?path=up/outside&recursive=true"),
        delete("/v1/fs/entry?path={outside}&recursive=true"),
        delete("/v1/fs/entry?path=.&recursive=true"),
        // Archives.
        unpack(&[(file, "../../outside/new.txt", "")]),
        unpack(&[(file, "a/../../../outside/new.txt", "")]),
        unpack(&[(file, "/tmp/interlingua-escape", "")]),
        unpack(&[(EntryType::Directory, "../../outside/made", "")]),
        unpack(&[(EntryType::Symlink, "link", "/etc")]),
        unpack(&[(EntryType::Symlink, "link", "../../outside")]),
        unpack(&[(EntryType::Symlink, "a/link", "../../../outside")]),
        unpack(&[(EntryType::Symlink, "link", "../../outside"), (file, "link/new.txt", "")]),
        unpack(&[(EntryType::Symlink, "link", "."), (file, "link/new.txt", "")]),
        unpack(&[(EntryType::Symlink, "link", "a"), (EntryType::Directory, "link/made", "")]),
        unpack(&[(EntryType::Symlink, "one", "."), (EntryType::Symlink, "one/two", "../../outside")]),
        unpack(&[(file, "back/outside/new.txt", "")]),
        unpack(&[(EntryType::Symlink, "link", "back"), (file, "link/outside/new.txt", "")]),
        unpack(&[(file, "escape", "")]),
        unpack(&[(EntryType::Link, "hard", "../../outside/secret.txt")]),
        unpack(&[(EntryType::Link, "hard", "/etc/passwd")]),
        unpack(&[(EntryType::Link, "hard", "back/outside/secret.txt")]),
        unpack(&[(EntryType::Link, "hard", "escape")]),
        unpack(&[(EntryType::Char, "null", "")]),
        unpack(&[(EntryType::Block, "disk", "")]),
        unpack(&[(EntryType::Fifo, "pipe", "")]),
    ]
}

/// Fills the folder with links that lead out of it, and creates what is outside.
fn prepare(root: &Path) -> PathBuf {
    let outside = root.with_file_name("outside");
    fs::create_dir_all(outside.join("kept")).unwrap();
    fs::write(outside.join("secret.txt"), SECRET).unwrap();
    let evil = root.with_file_name("root-evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join("secret.txt"), SECRET).unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("file.txt"), "inside").unwrap();
    let absolute = outside.to_str().unwrap();
    for (link, target) in [
        ("out", "../outside"),
        ("out_file", "../outside/secret.txt"),
        ("abs", absolute),
        ("abs_file", &format!("{absolute}/secret.txt")),
        ("up", ".."),
        ("chain", "dir/../out"),
        ("loop", "loop"),
        ("dangling", "../outside/new.txt"),
        ("proc", "/proc"),
        ("proc_root", "/proc/self/root"),
        ("null", "/dev/null"),
        ("dir/back", "../.."),
        ("dir/escape", "../../outside/secret.txt"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    drop(std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap());
    outside
}

/// Every file below a folder with its content.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

async fn send(files: &FileServer, escape: Escape, outside: &Path, suffix: &str) -> (String, Response) {
    let absolute = |text: &str| {
        text.replace("{outside}", outside.to_str().unwrap()).replace("{root}", files.root.to_str().unwrap())
    };
    let separator = if escape.target.contains('?') { "&" } else { "?" };
    let target = format!("{}{separator}{suffix}", absolute(escape.target));
    let mut name = format!("{} {target}", escape.method);
    let request = files.server.request(escape.method, &target);
    let request = match escape.body {
        Body::None => request,
        Body::File => request.body("written"),
        Body::Json(body) => {
            let body = absolute(&body.to_string());
            name.push_str(&body);
            request.header("content-type", "application/json").body(body)
        }
        Body::Tar(archive) => request.body(archive),
    };
    (name, request.send().await.unwrap())
}

#[tokio::test]
async fn no_request_leaves_the_folder() {
    let files = start_file_server().await;
    let outside = prepare(&files.root);
    let before = snapshot(&outside);
    assert!(escapes().len() >= 40);
    for suffix in ["", "sessionId=s"] {
        for escape in escapes() {
            let (name, response) = send(&files, escape, &outside, suffix).await;
            let status = response.status();
            let text = response.text().await.unwrap();
            assert!(status.is_client_error(), "{name}: {status} {text}");
            assert!(text.contains("urn:interlingua:error:"), "{name}: {text}");
            assert!(!text.contains(SECRET) && !text.contains("root:x:"), "{name}: {text}");
            assert_eq!(snapshot(&outside), before, "{name}");
        }
    }
    assert_eq!(fs::read_to_string(files.root.join("file.txt")).unwrap(), "inside");
    assert!(!Path::new("/tmp/interlingua-escape").exists());
    // A link can be deleted, and what it leads to stays.
    let deleted = files.server.delete("/v1/fs/entry?path=out&recursive=true").await;
    assert_eq!(deleted.status(), 200);
    assert!(!files.root.join("out").exists());
    assert_eq!(snapshot(&outside), before);
}

#[tokio::test]
async fn a_file_with_a_second_name_outside_is_replaced_and_not_changed() {
    let files = start_file_server().await;
    let outside = prepare(&files.root);
    let before = snapshot(&outside);
    for write in [put("/v1/fs/file?path=dir/hard"), unpack(&[(EntryType::Regular, "hard", "")])] {
        let _ = fs::remove_file(files.root.join("dir/hard"));
        fs::hard_link(outside.join("secret.txt"), files.root.join("dir/hard")).unwrap();
        let (name, response) = send(&files, write, &outside, "").await;
        assert_eq!(response.status(), 200, "{name}");
        assert_eq!(fs::read_to_string(files.root.join("dir/hard")).unwrap(), "written");
        assert_eq!(snapshot(&outside), before, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_becomes_a_link_meanwhile_is_no_way_out() {
    let files = start_file_server().await;
    let outside = prepare(&files.root);
    let before = snapshot(&outside);
    let (race, spare) = (files.root.join("race"), files.root.join("spare"));
    fs::create_dir(&race).unwrap();
    fs::write(race.join("secret.txt"), "inside").unwrap();
    symlink("../outside", &spare).unwrap();
    let is_done = AtomicBool::new(false);
    let exchanges = std::thread::scope(|scope| {
        // Folder and link change places all the time, in one step.
        let exchange = scope.spawn(|| {
            let mut count = 0_u64;
            while !is_done.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &race, rustix::fs::CWD, &spare, flags).unwrap();
                count += 1;
            }
            count
        });
        let handle = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            handle.block_on(async {
                let (mut read, mut written) = (0, 0);
                for round in 0..400 {
                    let response = files.server.get("/v1/fs/file?path=race/secret.txt").await;
                    let is_read = response.status() == 200;
                    let text = response.text().await.unwrap();
                    assert!(!text.contains(SECRET), "{text}");
                    read += u32::from(is_read);
                    let target = format!("/v1/fs/file?path=race/new-{round}.txt");
                    let request = files.server.request(Method::PUT, &target).body("written");
                    written += u32::from(request.send().await.unwrap().status() == 200);
                    let archive = archive(&[(EntryType::Regular, "race/unpacked.txt", "")]);
                    files.server.request(Method::POST, "/v1/fs/upload-batch").body(archive).send().await.unwrap();
                    files.server.delete("/v1/fs/entry?path=race/secret.txt.none&recursive=true").await;
                }
                assert!(read > 0 && written > 0, "the folder was never the folder: {read} {written}");
            });
        });
        is_done.store(true, Ordering::Relaxed);
        exchange.join().unwrap()
    });
    assert!(exchanges > 400, "{exchanges}");
    assert_eq!(snapshot(&outside), before);
}
