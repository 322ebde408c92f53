//! Builds the agent, which is this same package compiled a second time (see `reweave_embed`).

use reweave_embed::{Runtime, cdylib, content_hash, is_nested, rerun_if_changed};

const AGENT: Runtime<'_> =
    Runtime { cfg: "reweave_runtime", library: "libreweave_jvm.so", features: &[], codegen: &[] };

fn main() {
    println!("cargo::rustc-check-cfg=cfg(reweave_runtime)");
    if is_nested() {
        return;
    }
    rerun_if_changed(&[
        "build.rs",
        "Cargo.toml",
        "hooks",
        "src/lib.rs",
        "src/agent",
        "src/classfile",
        "src/hooks.rs",
        "src/rewrite",
        "../conductor/src",
        "../guest/src",
        "../model/src",
    ]);
    let agent = cdylib(&AGENT, "libreweave_agent.so");
    println!("cargo::rustc-env=REWEAVE_AGENT_HASH={:032x}", content_hash(&[&agent]));
}
