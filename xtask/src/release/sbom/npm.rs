//! The npm packages in the page that the program contains, from npm's lock file.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The packages that are bundled: all dependencies, without the tools that build and test the page.
pub(super) fn components(lock: &str) -> Result<Vec<Value>> {
    let lock: Value = serde_json::from_str(lock).context("inspector/package-lock.json is not JSON")?;
    let packages = lock["packages"].as_object().into_iter().flatten();
    let is_tool = |package: &Value| package["dev"] == true || package["devOptional"] == true;
    let bundled = packages.filter(|(path, package)| path.starts_with("node_modules/") && !is_tool(package));
    Ok(bundled.filter_map(|(path, package)| component(path, package)).collect())
}

/// The component of a package. `None` for a link to a folder.
fn component(path: &str, package: &Value) -> Option<Value> {
    let name = path.rsplit_once("node_modules/")?.1;
    let version = package["version"].as_str()?;
    let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
    let mut component = json!({ "type": "library", "bom-ref": url, "name": name, "version": version, "purl": url });
    if let Some(licence) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": licence }]);
    }
    if let Some(hash) = package["integrity"].as_str().and_then(sha512) {
        component["hashes"] = json!([{ "alg": "SHA-512", "content": hash }]);
    }
    Some(component)
}

/// The hash of npm's `integrity`, in hexadecimal digits.
fn sha512(integrity: &str) -> Option<String> {
    let bytes = STANDARD.decode(integrity.strip_prefix("sha512-")?).ok()?;
    Some(bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_page_is_listed() {
        let lock = json!({ "packages": {
            "": { "version": "0.1.0" },
            "node_modules/@preact/signals": { "version": "2.0.0", "license": "MIT", "integrity": "sha512-q80=" },
            "node_modules/vite": { "version": "8.0.0", "dev": true },
            "node_modules/linked": { "link": true },
        }});
        let components = components(&lock.to_string()).unwrap();
        let [signals] = components.as_slice() else { panic!("{components:?}") };
        assert_eq!(signals["purl"], "pkg:npm/%40preact/signals@2.0.0");
        assert_eq!(signals["hashes"][0]["content"], "abcd");
    }
}
