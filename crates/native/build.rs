//! Builds what the crate embeds: the stub archive and the runtime library.
//!
//! The runtime is this same package compiled a second time, as a cdylib and
//! under `--cfg reweave_runtime`. It cannot be an ordinary dependency: its
//! interposers would replace `pthread_create` and friends in the `reweave`
//! command itself. The second compilation runs this script again; the guard
//! variable tells the two apart.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the nested compilation.
const GUARD: &str = "REWEAVE_BUILDING_RUNTIME";

/// Sources of the stub archive; `hooks.def` and the header are read through them.
const STUB_SOURCES: [&str; 3] = ["hooks.S", "defaults.c", "register.c"];

/// `-ffreestanding -fno-builtin`: the archive must not need libc. `-mcx16`: 128-bit
/// atomics inline. No `-flto`, no stack protector: it is linked by other compilers.
const STUB_FLAGS: [&str; 12] = [
    "-c",
    "-O2",
    "-fPIC",
    "-g0",
    "-mcx16",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-lto",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-fno-asynchronous-unwind-tables",
    "-w",
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(reweave_runtime)");
    println!("cargo::rerun-if-env-changed={GUARD}");
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-env-changed=AR");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));

    if env::var_os(GUARD).is_some() {
        build_shims(&package, &out);
        return;
    }
    for input in [
        "build.rs",
        "Cargo.toml",
        "src/lib.rs",
        "src/runtime",
        "stubs",
        "../conductor/src",
        "../conductor/Cargo.toml",
        "../model/src",
        "../model/Cargo.toml",
    ] {
        // A path that does not exist (a packaged crate) would run the script every time.
        if package.join(input).exists() {
            println!("cargo::rerun-if-changed={input}");
        }
    }
    let stubs = build_stubs(&package, &out);
    let runtime = build_runtime(&package, &out);
    let header = package.join("stubs/reweave.h");
    let specs = package.join("stubs/gcc.specs");
    let hash = content_hash(&[&stubs, &runtime, &header, &specs]);
    println!("cargo::rustc-env=REWEAVE_CONTENT_HASH={hash:032x}");
}

/// The archive that `reweave cc` links into programs.
fn build_stubs(package: &Path, out: &Path) -> PathBuf {
    let folder = package.join("stubs");
    let objects: Vec<PathBuf> =
        STUB_SOURCES.iter().map(|source| compile(&folder.join(source), out, &STUB_FLAGS)).collect();
    archive(&objects, &out.join("libreweave_stubs.a"))
}

/// C code of the runtime (interposers of variadic functions), if there is any.
fn build_shims(package: &Path, out: &Path) {
    let source = package.join("src/runtime/shims.c");
    println!("cargo::rerun-if-changed=src/runtime");
    if !source.exists() {
        return;
    }
    let flags = ["-c", "-O2", "-g", "-fPIC", "-fno-lto", "-D_GNU_SOURCE", "-Wall"];
    let object = compile(&source, out, &flags);
    archive(&[object], &out.join("libreweave_shims.a"));
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static:+whole-archive=reweave_shims");
}

fn compile(source: &Path, out: &Path, flags: &[&str]) -> PathBuf {
    let name = source.file_name().expect("a file").to_str().expect("ASCII");
    let object = out.join(format!("{name}.o"));
    let compiler = env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
    let mut command = Command::new(&compiler);
    command.args(flags).arg(source).arg("-o").arg(&object);
    run(&mut command, "a C compiler builds the stubs; install one or set CC");
    object
}

fn archive(objects: &[PathBuf], archive: &Path) -> PathBuf {
    // `ar` adds to an archive that is already there.
    let _ = fs::remove_file(archive);
    let archiver = env::var_os("AR").unwrap_or_else(|| OsString::from("ar"));
    // D: no times, so that the content hash depends on the content alone.
    run(
        Command::new(archiver).arg("rcsD").arg(archive).args(objects),
        "`ar` comes with binutils; install it or set AR",
    );
    archive.to_path_buf()
}

/// The cdylib, copied to a name that `include_bytes!` can rely on.
fn build_runtime(package: &Path, out: &Path) -> PathBuf {
    let target = out.join("rt");
    let cargo = env::var_os("CARGO").expect("set by cargo");
    let mut command = Command::new(cargo);
    command
        .args(["rustc", "--release", "--lib", "--no-default-features", "--crate-type", "cdylib"])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "--cfg", "reweave_runtime"])
        // One unit: hooks and what they call are optimised together, and local symbols of
        // `global_asm!` are visible to all of them.
        .args(["-C", "codegen-units=1"])
        // A shared object may leave symbols undefined and fail only when it is loaded.
        .args(["-C", "link-arg=-Wl,-z,defs"]);
    // Flags, wrappers and settings meant for the outer build (a clippy driver, say)
    // must not leak into this one.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_outer_setting) {
            command.env_remove(&name);
        }
    }
    command.env(GUARD, "1");
    run(&mut command, "the runtime library must build; see the compiler's messages above");

    let built = target.join("release/libreweave_native.so");
    let runtime = out.join("libreweave_runtime.so");
    fs::copy(&built, &runtime).unwrap_or_else(|error| panic!("cannot copy {}: {error}", built.display()));
    runtime
}

/// Whether a variable steers the outer build, as opposed to saying where cargo's
/// files are, how to reach the network, or how many jobs may run.
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

fn run(command: &mut Command, hint: &str) {
    let program = command.get_program().display().to_string();
    let problem = match command.status() {
        Ok(status) if status.success() => return,
        Ok(status) => format!("{program} failed ({status})"),
        Err(error) => format!("cannot run {program} ({error})"),
    };
    println!("cargo::error={problem}: {hint}");
    std::process::exit(1);
}

/// FNV-1a over the files and their lengths. It names a folder of the cache; the files
/// in it are compared with the embedded bytes, so a collision is noticed.
fn content_hash(files: &[&Path]) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for file in files {
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(&bytes) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}
