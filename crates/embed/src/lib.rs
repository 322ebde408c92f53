//! For build scripts of front ends: builds a package a second time as a shared object, and makes a file of it that the
//! host side embeds.
//!
//! A runtime that lives inside programs cannot be an ordinary dependency of the `reweave` command: what it replaces in
//! a program it would replace in the command itself. So the front end's package is compiled twice: as a library for the
//! command, and, by its own build script, as a shared object under a `--cfg` of its own. The second compilation runs
//! the script again; a guard variable tells the two apart.
//!
//! ```no_run
//! let runtime = reweave_embed::Runtime { cfg: "reweave_runtime", library: "libreweave_native.so", features: &[], codegen: &[] };
//! if reweave_embed::is_nested() {
//!     return; // what only the shared object needs
//! }
//! reweave_embed::rerun_if_changed(&["build.rs", "src/runtime"]);
//! reweave_embed::cdylib(&runtime, "runtime.so");
//! ```
//!
//! and in the library:
//!
//! ```text
//! static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.so"));
//! ```
//!
//! The shared object is stripped but not compressed: of a megabyte, half would be saved, and unpacked at every start to
//! be compared with what lies in the cache.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the nested compilation.
const GUARD: &str = "REWEAVE_BUILDING_RUNTIME";

/// What is built.
#[derive(Clone, Copy, Debug)]
pub struct Runtime<'a> {
    /// Set by `--cfg` in the second compilation.
    pub cfg: &'a str,
    /// The name of the file that cargo makes of the package's library.
    pub library: &'a str,
    /// Features of the package; its default ones are off.
    pub features: &'a [&'a str],
    /// Further settings of the compiler (`-C`).
    pub codegen: &'a [&'a str],
}

/// Whether this is the second compilation. Also declares what it depends on.
pub fn is_nested() -> bool {
    println!("cargo::rerun-if-env-changed={GUARD}");
    env::var_os(GUARD).is_some()
}

/// The folder of the package whose build script runs.
pub fn package() -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"))
}

/// Where the build script puts its files.
pub fn out() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"))
}

/// Runs the script again when one of these changes. A path that does not exist (in a packaged crate) is left out: it
/// would run the script every time.
pub fn rerun_if_changed(inputs: &[&str]) {
    for input in inputs.iter().filter(|input| package().join(input).exists()) {
        println!("cargo::rerun-if-changed={input}");
    }
}

/// Builds the shared object, stripped, and copies it to `name` in [`out`], on which `include_bytes!` can rely; returns
/// where that is.
pub fn cdylib(runtime: &Runtime<'_>, name: &str) -> PathBuf {
    let target = out().join("rt");
    let cargo = env::var_os("CARGO").expect("set by cargo");
    let mut command = Command::new(cargo);
    command
        .args(["rustc", "--release", "--lib", "--crate-type", "cdylib", "--no-default-features", "--features"])
        .arg(runtime.features.join(","))
        .arg("--manifest-path")
        .arg(package().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "--cfg", runtime.cfg])
        // One unit: hooks and what they call are optimised together, and local symbols of `global_asm!` are visible to
        // all of them.
        .args(["-C", "codegen-units=1"])
        // A shared object may leave symbols undefined and fail only when it is loaded.
        .args(["-C", "link-arg=-Wl,-z,defs"]);
    command.args(runtime.codegen.iter().flat_map(|setting| ["-C", setting]));
    // Flags, wrappers and settings meant for the outer build (a clippy driver, say) must not leak into this one.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_outer_setting) {
            command.env_remove(&name);
        }
    }
    // It is carried by every `reweave` command, and nobody debugs it there: nine tenths of it would be symbols.
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    command.env(GUARD, "1");
    run(&mut command, "the runtime library must build; see the compiler's messages above");
    let (built, copied) = (target.join("release").join(runtime.library), out().join(name));
    fs::copy(&built, &copied).unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    copied
}

/// Whether a variable steers the outer build, as opposed to saying where cargo's files are, how to reach the network,
/// or how many jobs may run.
fn is_outer_setting(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_"];
    const DROPPED: [&str; 10] = [
        "CARGO",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC",
        "CLIPPY_",
        "OUT_DIR",
        "TARGET",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
    ];
    !KEPT.iter().any(|kept| name.starts_with(kept)) && DROPPED.iter().any(|dropped| name.starts_with(dropped))
}

/// Runs a command of a build script; ends the script with a message if it fails.
pub fn run(command: &mut Command, hint: &str) {
    let program = command.get_program().display().to_string();
    let problem = match command.status() {
        Ok(status) if status.success() => return,
        Ok(status) => format!("{program} failed ({status})"),
        Err(error) => format!("cannot run {program} ({error})"),
    };
    println!("cargo::error={problem}: {hint}");
    std::process::exit(1);
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}

/// FNV-1a over the files and their lengths. It names a folder of a cache; the files in it are compared with the
/// embedded bytes, so a collision is noticed.
pub fn content_hash(files: &[&Path]) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for file in files {
        let bytes = read(file);
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(&bytes) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_the_outer_build_is_kept_from_the_inner_one() {
        assert!(
            ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "OUT_DIR", "RUSTC_WRAPPER", "CLIPPY_ARGS"]
                .iter()
                .all(|name| is_outer_setting(name))
        );
        assert!(["CARGO_HOME", "CARGO_NET_OFFLINE", "PATH", "HOME"].iter().all(|name| !is_outer_setting(name)));
    }
}
