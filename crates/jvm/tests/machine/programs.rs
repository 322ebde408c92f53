//! Rewritten classes on a machine: they verify, and do what they did. Needs a JDK; without one, says so.

use super::support;
use reweave_jvm::rewrite::{Options, Scope, Stop, rewrite};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rewrites all classes of a folder into another one.
fn rewrite_all(from: &Path, to: &Path, options: &Options<'_>) {
    let classes = support::classes(from);
    let names: Vec<String> =
        classes.iter().map(|(path, _)| path.with_extension("").to_string_lossy().into_owned()).collect();
    let has_address = |name: &[u8]| names.iter().any(|own| own.as_bytes() == name);
    let mut first_site = options.first_site;
    for (path, bytes) in &classes {
        let result = rewrite(bytes, &Options { first_site, has_address: &has_address, ..*options });
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(result.facts.left_out, [], "{}", path.display());
        first_site += result.facts.sites.len() as u32;
        let target = to.join(path);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::write(target, result.bytes.as_ref().unwrap_or(bytes)).expect("a class file");
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/java/rewriting")
}

const OPTIONS: Options<'_> = Options {
    first_site: 30_000,
    preloaded: false,
    has_address: &|_| false,
    scope: Scope::Everything,
    calls: true,
    array_births: true,
    stop: Stop::Nowhere,
};

/// Runs the program as it was compiled and rewritten in several ways: always the same output.
fn same_output(folder: &Path, main: &str) {
    let Some(java) = support::jdk("java") else { return };
    let plain = folder.join("plain");
    let hooks = folder.join("hooks");
    support::write_idle_hooks(&hooks);
    let wanted = support::run(Command::new(&java).arg("-cp").arg(&plain).arg(main));
    let ways = [
        ("all", OPTIONS),
        ("stops", Options { stop: Stop::Everywhere, ..OPTIONS }),
        ("few", Options { first_site: 0, calls: false, array_births: false, ..OPTIONS }),
        ("preloaded", Options { first_site: 1 << 20, preloaded: true, ..OPTIONS }),
    ];
    for (way, options) in ways {
        let rewritten = folder.join(way);
        rewrite_all(&plain, &rewritten, &options);
        let patch = format!("java.base={}", hooks.display());
        let mut command = Command::new(&java);
        command.arg("-Xverify:all");
        command.args(["--patch-module", &patch, "-cp"]).arg(&rewritten).arg(main);
        assert_eq!(support::run(&mut command), wanted, "{main}, rewritten as `{way}`");
    }
}

fn compile(test: &str, source: &Path) -> Option<PathBuf> {
    let javac = support::jdk("javac")?;
    let folder = support::folder(test);
    support::run(Command::new(javac).args(["-g", "-d"]).arg(folder.join("plain")).arg(source));
    Some(folder)
}

#[test]
fn code_of_every_shape_does_what_it_did() {
    if let Some(folder) = compile("shapes", &sources().join("Shapes.java")) {
        same_output(&folder, "Shapes");
    }
}

#[test]
fn references_to_methods_do_what_they_did() {
    if let Some(folder) = compile("references", &sources().join("References.java")) {
        same_output(&folder, "References");
        let bytes = fs::read(folder.join("plain/References.class")).expect("a class file");
        let facts = rewrite(&bytes, &OPTIONS).expect("a class").facts;
        let added = facts.methods.iter().filter(|method| method.name.contains("$reference"));
        assert!(added.count() >= 6, "{:?}", facts.methods);
    }
}

#[test]
fn old_class_files_do_what_they_did() {
    let folder = support::folder("old");
    fs::create_dir_all(folder.join("plain")).expect("a folder");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/Old.class");
    fs::copy(kept, folder.join("plain/Old.class")).expect("the kept class file");
    same_output(&folder, "Old");
}

/// A method whose jumps lead further than 16 bits once it has hooks.
#[test]
fn jumps_become_wide_when_a_method_grows() {
    use std::fmt::Write;
    let mut source = String::from("public class Far { static int a, b; static int run(int n) { int k = 0;\n");
    source.push_str("for (int i = 0; i < n; i++) { if (i == 3) { k--; } else {\n");
    for i in 0..1700 {
        writeln!(source, "a += {};", i % 100).expect("text");
    }
    source.push_str("} do { k++; if (k > 1000) return b; } while (a < 0);\n");
    source.push_str("try { b = a / k; } catch (ArithmeticException e) { b++; } finally { b += k; } }\n");
    source.push_str("return k; }\n");
    source.push_str("public static void main(String[] x) { System.out.println(run(6) + \" \" + a + \" \" + b); } }\n");
    let written = support::folder("long_source");
    fs::write(written.join("Far.java"), source).expect("a source file");
    if let Some(folder) = compile("long", &written.join("Far.java")) {
        same_output(&folder, "Far");
    }
}
