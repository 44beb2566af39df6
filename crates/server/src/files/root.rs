//! Which folder a request is about: the directory of a session, or a root of the server.

use std::path::{Component, Path, PathBuf};

use interlingua_runtime::check_session_id;
use interlingua_schema::SessionId;

use crate::app::App;
use crate::config::FileRoots;
use crate::problem::{Problem, ProblemKind};
use crate::query::Query;

use super::error::FileError;
use super::relative_path::RelativePath;

/// The folder of a request.
#[derive(Clone, Debug)]
pub(super) struct Root {
    path: PathBuf,
}

impl Root {
    /// The folder that the path of a request is relative to: the directory of the session that `sessionId` names, the
    /// root that contains an absolute path, or else the first root.
    pub(super) async fn find(app: &App, query: &Query, path: &str) -> Result<Self, Problem> {
        let config = app.config();
        let Some(roots) = &config.files else {
            let detail = "the filesystem API is off; start the server with --fs";
            return Err(Problem::new(ProblemKind::NotFound, detail));
        };
        match query.text("session_id")? {
            Some(id) => Self::of_session(app, id).await,
            None => Self::of_server(roots, path),
        }
    }

    async fn of_session(app: &App, id: &str) -> Result<Self, Problem> {
        let id = SessionId::from(id.to_owned());
        check_session_id(&id)?;
        let session = app.session(&id).await?;
        match session.directory {
            Some(directory) => Ok(Self { path: PathBuf::from(directory) }),
            None => Err(Problem::invalid("the session has no directory").field("sessionId").session(&id)),
        }
    }

    fn of_server(roots: &FileRoots, path: &str) -> Result<Self, Problem> {
        let path = Path::new(path);
        let contains = |root: &&PathBuf| path.is_relative() || strip_root(root, path).is_some();
        let found = roots.paths().iter().find(contains);
        if let Some(root) = found {
            return Ok(Self { path: root.clone() });
        }
        let detail = match roots.paths() {
            [] => "expected `sessionId`, because the server was started without --fs-root".to_owned(),
            roots => {
                let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
                format!("{} is in none of the served directories ({})", path.display(), roots.join(", "))
            }
        };
        Err(Problem::invalid(detail).field("path"))
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path of the request relative to the folder. An absolute path has to be below it.
    pub(super) fn relative(&self, path: &str) -> Result<RelativePath, FileError> {
        if !path.starts_with('/') {
            return RelativePath::parse(path);
        }
        let outside = || FileError::escape(format!("{path} is outside of {}", self.path.display()));
        // `..` is refused before prefixes are compared.
        let names = RelativePath::parse(path.trim_start_matches('/'))?.below(Path::new("/"));
        let rest = strip_root(&self.path, &names).ok_or_else(outside)?;
        RelativePath::parse(rest.to_str().ok_or_else(outside)?)
    }
}

/// A path relative to a root. Both may be written with or without the links on the way to the root.
fn strip_root(root: &Path, path: &Path) -> Option<PathBuf> {
    if path.components().any(|component| component == Component::ParentDir) {
        return None;
    }
    let canonical = || path.strip_prefix(root.canonicalize().ok()?).ok();
    path.strip_prefix(root).ok().or_else(canonical).map(Path::to_owned)
}
