//! Tells the compiler about the configuration under which the runtime library is built.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(reweave_runtime)");
}
