//! The functions that a user wants to be atomic.

use std::fs;
use std::path::Path;

use reweave_launch::Error;

/// One name per line; empty lines and what follows a `#` do not count.
pub fn function_names(path: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Missing {
        what: format!("the file of --atomic, {}: {source}: it", path.display()),
        next: "write one name of a function per line".into(),
    })?;
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
