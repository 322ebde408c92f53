//! Builds the library for ranks, which is this same package compiled a second time (see `reweave_embed`); for that
//! compilation it writes the list of OpenSHMEM's calls, whose names are put together from types and operations.

use std::fmt::Write as _;

use reweave_embed::{Runtime, cdylib, is_nested, out, rerun_if_changed};

/// Frame pointers: a replaced function finds who called it above its own frame.
const RUNTIME: Runtime<'_> = Runtime {
    cfg: "reweave_runtime",
    library: "libreweave_spmd.so",
    features: &[],
    codegen: &["force-frame-pointers=yes"],
};

/// What runs inside ranks. The rest is compiled with it, but never called there: a change of it is no reason to build
/// two thousand functions again.
const INSIDE: [&str; 19] = [
    "build.rs",
    "Cargo.toml",
    "src/runtime",
    "src/lib.rs",
    "src/access.rs",
    "src/event.rs",
    "src/ids.rs",
    "src/logfile.rs",
    "src/look.rs",
    "src/lower",
    "src/order.rs",
    "src/owner.rs",
    "src/phases.rs",
    "src/plan.rs",
    "src/repeated.rs",
    "src/rules.rs",
    "src/span.rs",
    "src/values.rs",
    "src/wire.rs",
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(reweave_runtime)");
    if is_nested() {
        for (name, text) in [("shmem_calls.rs", calls()), ("shmem_collectives.rs", collectives())] {
            let path = out().join(name);
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        }
        return;
    }
    rerun_if_changed(&INSIDE);
    cdylib(&RUNTIME, "libreweave_ranks.so");
}

/// Names of types in calls, and what they are.
const INTEGERS: [(&str, &str); 20] = [
    ("char", "i8"),
    ("schar", "i8"),
    ("short", "i16"),
    ("int", "i32"),
    ("long", "i64"),
    ("longlong", "i64"),
    ("uchar", "u8"),
    ("ushort", "u16"),
    ("uint", "u32"),
    ("ulong", "u64"),
    ("ulonglong", "u64"),
    ("int8", "i8"),
    ("int16", "i16"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("uint8", "u8"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("size", "u64"),
];
const OTHERS: [(&str, &str); 3] = [("ptrdiff", "i64"), ("float", "f32"), ("double", "f64")];
/// These have no counterpart that can be passed by value.
const WIDE: [(&str, &str); 3] = [("longdouble", "[u64; 2]"), ("complexf", "[u32; 2]"), ("complexd", "[u64; 2]")];
/// Calls that take a number of bits for a type.
const SIZES: [(&str, &str); 6] =
    [("8", "u8"), ("16", "u16"), ("32", "u32"), ("64", "u64"), ("128", "[u64; 2]"), ("mem", "u8")];

/// Can the type be changed atomically?
fn is_atomic(name: &str) -> bool {
    !["char", "schar", "short", "uchar", "ushort", "int8", "int16", "uint8", "uint16"].contains(&name)
}

/// The invocation of the macro of a call's kind.
fn invoke(text: &mut String, kind: &str, name: &str, (label, of): (&str, &str)) {
    let how = if name.starts_with("shmem_ctx_") { "[ctx]" } else { "[]" };
    writeln!(text, "{kind}! {{ {how} {name} \"{label}\" {of} }}").expect("writing to memory");
}

/// Every collective.
fn collectives() -> String {
    let mut text = String::new();
    let kinds = ["collect", "fcollect", "alltoall", "broadcast"];
    for of in INTEGERS.iter().chain(&OTHERS).chain(&WIDE) {
        for kind in kinds {
            invoke(&mut text, &format!("team_{kind}"), &format!("shmem_{}_{kind}", of.0), *of);
        }
        for operation in ["and", "or", "xor", "max", "min", "sum", "prod"] {
            invoke(&mut text, "team_reduce", &format!("shmem_{}_{operation}_reduce", of.0), *of);
            invoke(&mut text, "to_all", &format!("shmem_{}_{operation}_to_all", of.0), *of);
        }
    }
    for kind in kinds {
        invoke(&mut text, &format!("team_{kind}"), &format!("shmem_{kind}mem"), ("mem", "u8"));
        for of in [("32", "u32"), ("64", "u64")] {
            invoke(&mut text, &format!("set_{kind}"), &format!("shmem_{kind}{}", of.0), of);
        }
    }
    text
}

/// Every call that has a type and is no collective.
fn calls() -> String {
    let mut text = String::new();
    let mut add = |kind: &str, name: String, label: &str, of: &str| invoke(&mut text, kind, &name, (label, of));
    for (label, of) in INTEGERS.iter().chain(&OTHERS).chain(&WIDE) {
        for prefix in ["shmem", "shmem_ctx"] {
            for kind in ["put", "get", "put_nbi", "get_nbi", "iput", "iget", "put_signal", "put_signal_nbi"] {
                add(kind, format!("{prefix}_{label}_{kind}"), label, of);
            }
        }
    }
    for (label, of) in SIZES {
        for prefix in ["shmem", "shmem_ctx"] {
            for kind in ["put", "get"] {
                add(kind, format!("{prefix}_{kind}{label}"), label, of);
                add(&format!("{kind}_nbi"), format!("{prefix}_{kind}{label}_nbi"), label, of);
                if label != "mem" {
                    add(&format!("i{kind}"), format!("{prefix}_i{kind}{label}"), label, of);
                }
            }
            add("put_signal", format!("{prefix}_put{label}_signal"), label, of);
            add("put_signal_nbi", format!("{prefix}_put{label}_signal_nbi"), label, of);
        }
    }
    for (label, of) in INTEGERS.iter().chain(&OTHERS) {
        for prefix in ["shmem", "shmem_ctx"] {
            add("p", format!("{prefix}_{label}_p"), label, of);
            add("g", format!("{prefix}_{label}_g"), label, of);
            if is_atomic(label) {
                for (kind, name) in ATOMICS {
                    add(kind, format!("{prefix}_{label}_atomic_{name}"), label, of);
                }
            }
        }
        if is_atomic(label) {
            for (kind, name) in OLD_ATOMICS {
                add(kind, format!("shmem_{label}_{name}"), label, of);
            }
        }
        if !["float", "double"].contains(label) {
            for kind in WAITS {
                add(kind, format!("shmem_{label}_{kind}"), label, of);
            }
        }
    }
    text
}

const ATOMICS: [(&str, &str); 22] = [
    ("set", "set"),
    ("fetch", "fetch"),
    ("swap", "swap"),
    ("add", "add"),
    ("inc", "inc"),
    ("fetch_add", "fetch_add"),
    ("fetch_inc", "fetch_inc"),
    ("compare_swap", "compare_swap"),
    ("and", "and"),
    ("or", "or"),
    ("xor", "xor"),
    ("fetch_and", "fetch_and"),
    ("fetch_or", "fetch_or"),
    ("fetch_xor", "fetch_xor"),
    ("fetch_nbi", "fetch_nbi"),
    ("swap_nbi", "swap_nbi"),
    ("fetch_add_nbi", "fetch_add_nbi"),
    ("fetch_inc_nbi", "fetch_inc_nbi"),
    ("compare_swap_nbi", "compare_swap_nbi"),
    ("fetch_and_nbi", "fetch_and_nbi"),
    ("fetch_or_nbi", "fetch_or_nbi"),
    ("fetch_xor_nbi", "fetch_xor_nbi"),
];

/// As they were called before version 1.4.
const OLD_ATOMICS: [(&str, &str); 8] = [
    ("set", "set"),
    ("fetch", "fetch"),
    ("swap", "swap"),
    ("add", "add"),
    ("inc", "inc"),
    ("fetch_add", "fadd"),
    ("fetch_inc", "finc"),
    ("compare_swap", "cswap"),
];

const WAITS: [&str; 15] = [
    "wait",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
    "wait_until_some",
    "wait_until_all_vector",
    "wait_until_any_vector",
    "wait_until_some_vector",
    "test",
    "test_all",
    "test_any",
    "test_some",
    "test_all_vector",
    "test_any_vector",
    "test_some_vector",
];
