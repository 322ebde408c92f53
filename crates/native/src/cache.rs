//! Which files of ours lie in the user's [cache](reweave_launch::cache): those that compilers and loaders are pointed at.

use std::path::{Path, PathBuf};

pub use reweave_launch::cache::Error;
use reweave_launch::cache::{Problem, own_file, own_folder, unpack};

use crate::embedded::{CONTENT_HASH, GCC_SPECS, HEADER, RUNTIME, STUBS};

/// Where the unpacked files are that programs are built with.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The cache's root folder, shared by all versions of `reweave`.
    pub root: PathBuf,
    /// The archive of hooks to link.
    pub stubs: PathBuf,
    /// The folder that holds `reweave.h`.
    pub include: PathBuf,
    /// The specs file for gcc.
    pub gcc_specs: PathBuf,
}

/// Unpacks what programs are built with, or checks that it is already there.
///
/// # Errors
/// If there is no place for it.
pub fn for_compiling() -> Result<Installed, Error> {
    unpack(install)
}

/// The same for the runtime library to preload.
///
/// # Errors
/// If there is no place for it.
pub fn runtime() -> Result<PathBuf, Error> {
    unpack(|root| {
        let runtime = folder(root)?.join("libreweave_runtime.so");
        own_file(&runtime, RUNTIME).map(|()| runtime)
    })
}

fn folder(root: &Path) -> Result<PathBuf, Problem> {
    let folder = root.join(CONTENT_HASH);
    own_folder(&folder).map(|()| folder)
}

fn install(root: &Path) -> Result<Installed, Problem> {
    let folder = folder(root)?;
    let include = folder.join("include");
    own_folder(&include)?;
    let installed = Installed {
        root: root.to_path_buf(),
        stubs: folder.join("libreweave_stubs.a"),
        gcc_specs: folder.join("gcc.specs"),
        include,
    };
    own_file(&installed.stubs, STUBS)?;
    own_file(&installed.gcc_specs, GCC_SPECS)?;
    own_file(&installed.include.join("reweave.h"), HEADER)?;
    Ok(installed)
}
