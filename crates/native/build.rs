//! Builds what the crate embeds: the stub archive and the runtime library, which is this same package compiled a second
//! time (see `reweave_embed`): its interposers would otherwise replace `pthread_create` and friends in the `reweave`
//! command itself.

use reweave_embed::{Runtime, cdylib, content_hash, is_nested, out, package, rerun_if_changed, run};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUNTIME: Runtime<'_> =
    Runtime { cfg: "reweave_runtime", library: "libreweave_native.so", features: &[], codegen: &[] };

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
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-env-changed=AR");
    let (package, out) = (package(), out());
    if is_nested() {
        build_shims(&package, &out);
        return;
    }
    rerun_if_changed(&[
        "build.rs",
        "Cargo.toml",
        "src/lib.rs",
        "src/runtime",
        "stubs",
        "../conductor/src",
        "../conductor/Cargo.toml",
        "../guest/src",
        "../guest/Cargo.toml",
        "../model/src",
        "../model/Cargo.toml",
    ]);
    let stubs = build_stubs(&package, &out);
    let runtime = cdylib(&RUNTIME, "libreweave_runtime.so");
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
