//! Opening a path below a folder without ever leaving the folder.
//!
//! On Linux, the kernel resolves the path (`openat2` with `RESOLVE_BENEATH`). Where it cannot, because it is too old or a
//! sandbox forbids the call, the path is walked: each component is opened relative to the folder before it, never through
//! a link, and links are resolved by hand. Both are safe against links that change meanwhile, because a folder that is
//! open cannot be exchanged.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::relative_path::RelativePath;

/// Maximum number of links on the way to a file, as in the kernel.
const MAX_LINKS: usize = 40;

/// How often a path is resolved again if folders on the way move meanwhile.
#[cfg(target_os = "linux")]
const MAX_ATTEMPTS: usize = 64;

/// What happens with symbolic links on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// They are followed, unless they lead out of the folder.
    Follow,
    /// They are refused.
    Refuse,
}

/// How paths are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolver {
    /// By the kernel.
    #[cfg(target_os = "linux")]
    Kernel,
    /// One component at a time.
    Walk,
}

impl Resolver {
    /// The best one that works on this system.
    pub(super) fn detect() -> Self {
        #[cfg(target_os = "linux")]
        {
            use std::sync::LazyLock;
            static IS_SUPPORTED: LazyLock<bool> = LazyLock::new(|| {
                let flags = rustix::fs::ResolveFlags::BENEATH;
                let opened =
                    rustix::fs::openat2(rustix::fs::CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), flags);
                // Sandboxes answer with one of these instead of asking the kernel.
                !matches!(opened, Err(Errno::NOSYS | Errno::PERM | Errno::ACCESS))
            });
            if *IS_SUPPORTED {
                return Self::Kernel;
            }
        }
        Self::Walk
    }

    /// Opens a path below `folder`. A path that leads out of it is refused ([`Errno::XDEV`], or [`Errno::LOOP`] for a
    /// link that may not be followed).
    ///
    /// Never waits: a pipe without a writer is opened at once.
    pub(super) fn open(
        self,
        folder: BorrowedFd<'_>,
        path: &RelativePath,
        flags: OFlags,
        mode: Mode,
        links: Links,
    ) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        match self {
            #[cfg(target_os = "linux")]
            Self::Kernel => open_in_kernel(folder, path, flags, mode, links),
            Self::Walk => walk(folder, path, flags, mode, links),
        }
    }
}

#[cfg(target_os = "linux")]
fn open_in_kernel(
    folder: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    mode: Mode,
    links: Links,
) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = match links {
        Links::Follow => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        Links::Refuse => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS,
    };
    // The kernel refuses flags that have no meaning for a path.
    let flags = if flags.contains(OFlags::PATH) { flags - OFlags::NOCTTY - OFlags::NONBLOCK } else { flags };
    // The kernel refuses a mode without a new file.
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    for _ in 1..MAX_ATTEMPTS {
        match openat2(folder, path.to_path(), flags, mode, resolve) {
            // A folder on the way was moved while `..` of a link was resolved.
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
    Ok(openat2(folder, path.to_path(), flags, mode, resolve)?)
}

fn walk(folder: BorrowedFd<'_>, path: &RelativePath, flags: OFlags, mode: Mode, links: Links) -> io::Result<OwnedFd> {
    let folder_flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A path is opened as a file: without `O_PATH`, a link is an error instead of a result.
    let flags = (flags | OFlags::NOFOLLOW) - path_flag();
    // The folders from the outermost one to the current one.
    let mut folders = Vec::new();
    let mut rest: VecDeque<OsString> = path.components().map(OsString::from).collect();
    let mut link_count = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            // Only links contain it.
            folders.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let current = folders.last().map_or(folder, OwnedFd::as_fd);
        let (flags, mode) = if rest.is_empty() { (flags, mode) } else { (folder_flags, Mode::empty()) };
        let opened = openat(current, &name, flags, mode);
        match opened {
            Ok(file) if rest.is_empty() => return Ok(file),
            Ok(next) => folders.push(next),
            Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
                let Ok(target) = readlinkat(current, &name, Vec::new()) else { return Err(error.into()) };
                link_count += 1;
                if links == Links::Refuse || link_count > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = OsString::from_vec(target.into_bytes());
                prepend(&mut rest, &target)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(openat(folders.last().map_or(folder, OwnedFd::as_fd), ".", flags, mode)?)
}

/// Puts the components of a link's target before the rest of a path.
fn prepend(rest: &mut VecDeque<OsString>, target: &OsStr) -> io::Result<()> {
    if target.as_bytes().starts_with(b"/") {
        return Err(Errno::XDEV.into());
    }
    for component in target.as_bytes().rsplit(|byte| *byte == b'/') {
        if !component.is_empty() && component != b"." {
            rest.push_front(OsStr::from_bytes(component).to_owned());
        }
    }
    Ok(())
}

/// The flag that opens a path and not its file, where there is one.
pub(super) const fn path_flag() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    return OFlags::empty();
}
