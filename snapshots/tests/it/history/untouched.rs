//! Reading changes nothing in an agent's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{committed, entries, import, pairs_in};

#[test]
fn reading_a_history_changes_no_file() {
    for pair in pairs_in(&committed()) {
        let before = tree(&pair.history);
        import(&pair.history);
        assert_eq!(before, tree(&pair.history), "{}", pair.name);
    }
}

/// Every file and folder, with its time of modification and content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut tree = BTreeMap::new();
    for path in entries(folder) {
        let modified = path.metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            tree.extend(self::tree(&path));
            tree.insert(path, (modified, None));
        } else {
            let content = std::fs::read(&path).unwrap();
            tree.insert(path, (modified, Some(content)));
        }
    }
    tree
}
