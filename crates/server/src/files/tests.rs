//! Both ways to resolve paths refuse the same and find the same.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::beneath::{Links, Resolver};
use super::folder::{EntryKind, Folder};
use super::relative_path::RelativePath;

/// All resolvers of this system.
fn resolvers() -> Vec<Resolver> {
    let detected = Resolver::detect();
    if detected == Resolver::Walk { vec![Resolver::Walk] } else { vec![detected, Resolver::Walk] }
}

fn path(text: &str) -> RelativePath {
    RelativePath::parse(text).unwrap()
}

fn prepare(folder: &Path) -> std::path::PathBuf {
    let root = folder.join("root");
    fs::create_dir_all(root.join("dir/sub")).unwrap();
    fs::create_dir(folder.join("outside")).unwrap();
    fs::write(folder.join("outside/secret"), "secret").unwrap();
    fs::write(root.join("dir/file"), "file").unwrap();
    for (link, target) in [
        ("file", "dir/file"),
        ("dir/up", "../dir/file"),
        ("dir/sub/dir", "../../dir"),
        ("self", "."),
        ("out", "../outside"),
        ("dir/out", "../../outside"),
        ("abs", "/etc"),
        ("loop", "loop"),
        ("to-out", "dir/out"),
        ("missing", "nothing"),
        ("through", "dir/file/"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    root
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let temporary = tempfile::tempdir().unwrap();
    let root = prepare(temporary.path());
    for resolver in resolvers() {
        let folder = Folder::open(&root).unwrap().with_resolver(resolver);
        for inside in ["dir/file", "file", "dir/up", "dir/sub/dir/file", "self/self/file", "dir/sub/dir/sub/dir/up"] {
            let (_, size) =
                folder.read(&path(inside)).unwrap_or_else(|error| panic!("{resolver:?} {inside}: {error:?}"));
            assert_eq!(size, 4, "{resolver:?} {inside}");
        }
        for outside in
            ["out/secret", "dir/out/secret", "to-out/secret", "abs/passwd", "loop", "loop/x", "missing", "dir/file/x"]
        {
            assert!(folder.read(&path(outside)).is_err(), "{resolver:?} {outside}");
            assert!(folder.entries(&path(outside)).is_err(), "{resolver:?} {outside}");
            let written = folder.create_file(&path(outside).join("new"), Links::Follow);
            assert!(written.is_err(), "{resolver:?} {outside}");
        }
        assert_eq!(folder.metadata(&path("out")).unwrap().kind, EntryKind::Link, "{resolver:?}");
        assert_eq!(folder.metadata(&path("self")).unwrap().kind, EntryKind::Directory, "{resolver:?}");
        assert_eq!(folder.metadata(&path("")).unwrap().kind, EntryKind::Directory, "{resolver:?}");
        assert_eq!(folder.entries(&path("dir")).unwrap().len(), 4, "{resolver:?}");
    }
    assert_eq!(fs::read_dir(temporary.path().join("outside")).unwrap().count(), 1);
}

#[test]
fn no_link_is_followed_where_links_are_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let root = prepare(temporary.path());
    for resolver in resolvers() {
        let folder = Folder::open(&root).unwrap().with_resolver(resolver);
        for target in ["self/new", "dir/sub/dir/new", "out/new", "file", "self/made/new"] {
            assert!(folder.create_file(&path(target), Links::Refuse).is_err(), "{resolver:?} {target}");
        }
        let mut file = folder.create_file(&path("fresh/new"), Links::Refuse).unwrap();
        file.file().write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(root.join("fresh/new")).unwrap(), "new");
        folder.delete(&path("fresh"), true).unwrap();
    }
}

#[test]
fn a_file_that_is_not_committed_is_removed() {
    let temporary = tempfile::tempdir().unwrap();
    for resolver in resolvers() {
        let folder = Folder::open(temporary.path()).unwrap().with_resolver(resolver);
        let mut file = folder.create_file(&path("new"), Links::Follow).unwrap();
        file.file().write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "{resolver:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_of_proc_and_sys_are_not_served() {
    for folder in ["/proc", "/proc/self", "/sys"] {
        assert!(Folder::open(Path::new(folder)).is_err(), "{folder}");
    }
    let root = Folder::open(Path::new("/")).unwrap();
    for resolver in resolvers() {
        let root = Folder::open(Path::new("/")).unwrap().with_resolver(resolver);
        for file in ["proc/self/environ", "proc/self/mem", "proc/version", "sys/kernel/uevent_seqnum"] {
            assert!(root.read(&path(file)).is_err(), "{resolver:?} {file}");
        }
        assert!(root.entries(&path("proc")).is_err());
    }
    assert!(root.create_file(&path("proc/sys/kernel/hostname"), Links::Follow).is_err());
}

#[test]
fn a_tree_is_deleted_without_what_its_links_lead_to() {
    let temporary = tempfile::tempdir().unwrap();
    let root = prepare(temporary.path());
    let folder = Folder::open(&root).unwrap();
    folder.delete(&path("dir"), true).unwrap();
    folder.delete(&path("out"), true).unwrap();
    assert!(!root.join("dir").exists() && temporary.path().join("outside/secret").exists());
    assert!(folder.delete(&path(""), true).is_err());
}
