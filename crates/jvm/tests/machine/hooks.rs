//! The hook classes: they have every hook, and their kept bytes are what javac makes of their source.

use super::support;
use reweave_jvm::classfile::{ClassFile, decode_text};
use reweave_jvm::hooks::{ATOMICS_BYTES, HOOKS_BYTES};
use reweave_jvm::rewrite::hook_names::Hook;
use reweave_jvm::rewrite::unsafe_calls::UnsafeCall;
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

fn methods(bytes: &[u8]) -> HashSet<(String, String)> {
    let class = ClassFile::parse(bytes).expect("a class");
    let text = |index| decode_text(class.pool.utf8(index).expect("text"));
    class.methods.iter().map(|method| (text(method.name), text(method.descriptor))).collect()
}

#[test]
fn hook_classes_have_every_hook() {
    let own = methods(HOOKS_BYTES);
    for hook in Hook::all() {
        let (name, descriptor) = hook.name_and_descriptor();
        assert!(own.contains(&(name.to_owned(), descriptor.clone())), "{name}{descriptor}");
    }
    let own = methods(ATOMICS_BYTES);
    for call in UnsafeCall::all() {
        let (name, descriptor) = call.hook();
        assert!(own.contains(&(name.to_owned(), descriptor.clone())), "{name}{descriptor}");
    }
}

/// Other compilers than that of JDK 17 may make other bytes of the same source.
#[test]
fn kept_bytes_are_those_of_the_source() {
    let Some(javac) = support::jdk("javac") else { return };
    let version = support::run(Command::new(&javac).arg("-version"));
    if !version.starts_with("javac 17.") {
        return eprintln!("left out: the hook classes are compiled with JDK 17, here is {version}");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks");
    let out = support::folder("hook_classes");
    let mut command = Command::new(javac);
    command.arg("--patch-module").arg(format!("java.base={}", source.display())).args(["-g:none", "-d"]).arg(&out);
    let files = ["ReweaveHooks", "ReweaveAtomics"].map(|name| source.join(format!("java/lang/{name}.java")));
    support::run(command.args(files));
    for (name, kept) in [("ReweaveHooks", HOOKS_BYTES), ("ReweaveAtomics", ATOMICS_BYTES)] {
        let made = std::fs::read(out.join(format!("java/lang/{name}.class"))).expect("compiled");
        assert!(made == kept, "{name}.class is not what its source compiles to: compile it again");
    }
}
