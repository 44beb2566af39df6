//! Skills of a session: folders with a `SKILL.md`, which are linked into the folder where the agent looks for them.
//!
//! A source is a local folder, or a git repository, which is kept in the data directory and brought up to date whenever a
//! session names it. A source has the skills in its own folder, in `skills/`, or in its folders. The links are removed when
//! no open session needs them.

mod git;

use std::io;
use std::path::{Path, PathBuf};

use interlingua_store::SessionFilter;
use serde::{Deserialize, Serialize};
use tokio::sync::MutexGuard;
use tokio::task::spawn_blocking;

use crate::create::{CheckedSession, StoredConfig};
use crate::driver::Driver;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Folder of a source that has its skills.
const SKILLS: &str = "skills";

/// Number of sessions that are read at once.
const PAGE_SESSIONS: usize = 256;

/// The skills of a session: `{"sources": [{"type": "local", "source": "/path"}]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Skills {
    /// Where the skills are.
    pub sources: Vec<SkillSource>,
}

/// Where skills are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SkillSource {
    /// What `source` is.
    #[serde(rename = "type")]
    pub kind: SkillSourceKind,
    /// A folder, `OWNER/REPOSITORY`, or the address of a repository.
    pub source: String,
    /// Names of the skills; all if absent.
    #[serde(default)]
    pub skills: Option<Vec<String>>,
    /// Branch, tag or commit of a repository; its default branch if absent.
    #[serde(default, rename = "ref")]
    pub reference: Option<String>,
    /// Folder of the repository that has the skills.
    #[serde(default)]
    pub subpath: Option<String>,
}

/// What a source of skills is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillSourceKind {
    /// A folder on the server's machine.
    Local,
    /// A git repository.
    Git,
    /// A repository on GitHub: `OWNER/REPOSITORY`.
    Github,
}

/// A link to a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SkillLink {
    /// The link, in the folder of the agent.
    path: PathBuf,
    /// The skill.
    target: PathBuf,
}

fn refuse(detail: impl Into<String>) -> RuntimeError {
    RuntimeError::field("skills", detail)
}

impl Runtime {
    /// Links the skills of a session into the agent's folder, and notes the links in its configuration. The guard keeps
    /// other sessions from removing them before the session is stored.
    pub(crate) async fn link_skills(
        &self,
        checked: &mut CheckedSession,
        driver: &dyn Driver,
    ) -> Result<Option<MutexGuard<'_, ()>>, RuntimeError> {
        if checked.skills.sources.is_empty() {
            return Ok(None);
        }
        let Some(folder) = driver.skills_folder() else {
            return Err(refuse(format!("{} has no known folder for skills: remove `skills`", driver.id())));
        };
        let mut found = Vec::new();
        for (index, source) in checked.skills.sources.iter().enumerate() {
            let root = self
                .source_folder(source)
                .await
                .map_err(|reason| refuse(format!("`skills.sources[{index}]`: {reason}")))?;
            let source = source.clone();
            let skills = spawn_blocking(move || find_skills(&root, &source)).await;
            let skills = skills.unwrap_or_else(|error| Err(error.to_string()));
            found.extend(skills.map_err(|reason| refuse(format!("`skills.sources[{index}]`: {reason}")))?);
        }
        let guard = self.shared.skills_lock.lock().await;
        let folder = checked.spec.directory.join(folder);
        let links = spawn_blocking(move || create_links(&folder, found)).await;
        let links = links.unwrap_or_else(|error| Err(error.to_string()));
        checked.config.skills = links.map_err(refuse)?;
        Ok(Some(guard))
    }

    /// The folder of a source. A repository is brought up to date.
    async fn source_folder(&self, source: &SkillSource) -> Result<PathBuf, String> {
        let root = match source.kind {
            SkillSourceKind::Local => {
                if source.reference.is_some() {
                    return Err("a local source has no `ref`".to_owned());
                }
                if !Path::new(&source.source).is_absolute() {
                    return Err(format!("expected an absolute path, found {:?}", source.source));
                }
                PathBuf::from(&source.source)
            }
            SkillSourceKind::Git => self.checkout(&source.source, source.reference.as_deref()).await?,
            SkillSourceKind::Github => {
                let url = git::github_url(&source.source)?;
                self.checkout(&url, source.reference.as_deref()).await?
            }
        };
        match &source.subpath {
            None => Ok(root),
            Some(subpath) if Path::new(subpath).is_relative() && !subpath.split('/').any(|name| name == "..") => {
                Ok(root.join(subpath))
            }
            Some(subpath) => Err(format!("expected `subpath` to be a folder of the source, found {subpath:?}")),
        }
    }

    async fn checkout(&self, url: &str, reference: Option<&str>) -> Result<PathBuf, String> {
        let Some(folder) = &self.shared.options.skills_folder else {
            return Err("this server takes skills from local folders only".to_owned());
        };
        // Sessions that name the same repository must not update it at the same time.
        let _guard = self.shared.checkout_lock.lock().await;
        git::checkout(folder, url, reference).await
    }

    /// Removes links that no open session needs.
    pub(crate) async fn unlink_skills(&self, directory: Option<&str>, links: &[SkillLink]) {
        if links.is_empty() {
            return;
        }
        let _guard = self.shared.skills_lock.lock().await;
        match self.used_links(directory).await {
            Ok(used) => {
                let unused = links.iter().filter(|link| !used.contains(link)).cloned().collect();
                let _ = spawn_blocking(move || remove_links(unused)).await;
            }
            Err(error) => tracing::warn!(%error, "keeping links to skills, because other sessions may need them"),
        }
    }

    /// The links of the open sessions that work in a directory.
    async fn used_links(&self, directory: Option<&str>) -> Result<Vec<SkillLink>, RuntimeError> {
        let filter = SessionFilter::default().directory(directory.map(str::to_owned));
        let (mut used, mut from) = (Vec::new(), None);
        loop {
            let page = self.shared.store.sessions(&filter, PAGE_SESSIONS, from).await?;
            let open = page.sessions.iter().filter(|session| !session.ended);
            used.extend(open.flat_map(|session| StoredConfig::decode(session).skills));
            from = page.next;
            if from.is_none() {
                return Ok(used);
            }
        }
    }
}

/// The skills of a source: their names and folders.
fn find_skills(root: &Path, source: &SkillSource) -> Result<Vec<(String, PathBuf)>, String> {
    let root = root.canonicalize().map_err(|error| format!("cannot use {}: {error}", root.display()))?;
    let mut found = if root.join(SKILL_FILE).is_file() {
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        vec![(name.unwrap_or_else(|| SKILLS.to_owned()), root.clone())]
    } else {
        let in_folder = skills_in(&root.join(SKILLS));
        if in_folder.is_empty() { skills_in(&root) } else { in_folder }
    };
    found.sort();
    if let Some(wanted) = &source.skills {
        if let Some(missing) = wanted.iter().find(|name| !found.iter().any(|(found, _)| found == *name)) {
            let known: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("{:?} has no skill `{missing}`; it has {}", source.source, known.join(", ")));
        }
        found.retain(|(name, _)| wanted.contains(name));
    }
    if found.is_empty() {
        return Err(format!("{:?} has no folder with a {SKILL_FILE}", source.source));
    }
    Ok(found)
}

/// The folders with a skill file in a folder.
fn skills_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let skills = entries.filter(|entry| entry.path().join(SKILL_FILE).is_file());
    skills.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

/// Links skills into the folder of an agent. Links that exist are used again; nothing else is replaced.
fn create_links(folder: &Path, skills: Vec<(String, PathBuf)>) -> Result<Vec<SkillLink>, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let mut links = Vec::new();
    for (name, target) in skills {
        let link = SkillLink { path: folder.join(&name), target };
        if let Err(reason) = create_link(&link) {
            remove_links(links);
            return Err(format!("cannot link the skill `{name}`: {reason}"));
        }
        links.push(link);
    }
    Ok(links)
}

fn create_link(link: &SkillLink) -> Result<(), String> {
    match std::os::unix::fs::symlink(&link.target, &link.path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if leads_to(&link.path, &link.target) {
                return Ok(());
            }
            Err(format!("{} exists and is another skill", link.path.display()))
        }
        result => result.map_err(|error| error.to_string()),
    }
}

fn remove_links(links: Vec<SkillLink>) {
    for SkillLink { path, target } in links {
        if leads_to(&path, &target)
            && let Err(error) = std::fs::remove_file(&path)
        {
            tracing::warn!(%error, link = %path.display(), "cannot remove the link to a skill");
        }
    }
}

/// Whether a path is a link with this target.
fn leads_to(path: &Path, target: &Path) -> bool {
    std::fs::read_link(path).is_ok_and(|found| found == target)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn source(folder: &Path, skills: Option<&[&str]>) -> SkillSource {
        SkillSource {
            kind: SkillSourceKind::Local,
            source: folder.to_str().unwrap().to_owned(),
            skills: skills.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            reference: None,
            subpath: None,
        }
    }

    fn write_skill(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(SKILL_FILE), "# A skill").unwrap();
    }

    fn names(found: &[(String, PathBuf)]) -> Vec<&str> {
        found.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn skills_are_found_in_a_source() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("source");
        write_skill(&root.join("one"));
        write_skill(&root.join("two"));
        fs::create_dir_all(root.join("none")).unwrap();
        assert_eq!(names(&find_skills(&root, &source(&root, None)).unwrap()), ["one", "two"]);
        assert_eq!(names(&find_skills(&root, &source(&root, Some(&["two"]))).unwrap()), ["two"]);
        let error = find_skills(&root, &source(&root, Some(&["three"]))).unwrap_err();
        assert!(error.contains("no skill `three`; it has one, two"), "{error}");
        // A folder `skills` comes first, and the source itself before.
        write_skill(&root.join("skills/inner"));
        assert_eq!(names(&find_skills(&root, &source(&root, None)).unwrap()), ["inner"]);
        fs::write(root.join(SKILL_FILE), "# A skill").unwrap();
        assert_eq!(names(&find_skills(&root, &source(&root, None)).unwrap()), ["source"]);
        assert!(find_skills(&root.join("none"), &source(&root, None)).is_err());
    }

    #[test]
    fn links_are_used_again_and_nothing_else_is_replaced() {
        let temporary = tempfile::tempdir().unwrap();
        let (skill, other, folder) =
            (temporary.path().join("skill"), temporary.path().join("other"), temporary.path().join("agent/skills"));
        write_skill(&skill);
        write_skill(&other);
        let wanted = |target: &Path| vec![("skill".to_owned(), target.to_owned())];
        let links = create_links(&folder, wanted(&skill)).unwrap();
        assert_eq!(create_links(&folder, wanted(&skill)).unwrap(), links);
        assert!(create_links(&folder, wanted(&other)).unwrap_err().contains("is another skill"));
        assert!(folder.join("skill/SKILL.md").is_file());
        remove_links(links.clone());
        assert!(!folder.join("skill").exists() && skill.exists());
        // A folder of the user is kept.
        write_skill(&folder.join("skill"));
        remove_links(links);
        assert!(folder.join("skill").exists());
        let both = vec![("new".to_owned(), other), ("skill".to_owned(), skill)];
        assert!(create_links(&folder, both).is_err());
        assert!(!folder.join("new").exists(), "a link that was created before the error is removed");
    }
}
