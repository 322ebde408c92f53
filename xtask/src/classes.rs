//! `cargo xtask survey classes [JAR…]`: are all classes of these jars rewritten so that the machine accepts them?
//!
//! Each jar is loaded class by class under `reweave record` with every class verified (`-Xverify:all`), on every machine
//! that is here; classes of the JDK itself stay as they are. Without arguments: all jars that Debian installs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools;

/// Where Debian puts jars.
const JARS: &str = "/usr/share/java";

pub fn run(root: &Path, jars: &[String]) -> io::Result<bool> {
    let folder = root.join("target/bench/classes");
    fs::create_dir_all(&folder)?;
    let loader = root.join("tests/java/rewriting/LoadAll.java");
    if !Command::new("javac").arg("-d").arg(&folder).arg(loader).status()?.success() {
        return Err(io::Error::other("the program that loads classes does not compile"));
    }
    let jars: Vec<PathBuf> = if jars.is_empty() { installed()? } else { jars.iter().map(PathBuf::from).collect() };
    let mut machines = vec![PathBuf::from("java")];
    machines.extend(tools::newer_java_program(root));
    let mut good = true;
    for machine in machines {
        for jar in &jars {
            good &= load(root, &folder, &machine, jar)?;
        }
    }
    Ok(good)
}

/// Jars of Debian, without those that are other names of another one.
fn installed() -> io::Result<Vec<PathBuf>> {
    let mut jars = Vec::new();
    for entry in fs::read_dir(JARS)? {
        let path = entry?.path();
        if path.extension().is_some_and(|own| own == "jar") && !path.is_symlink() {
            jars.push(path);
        }
    }
    jars.sort();
    Ok(jars)
}

/// Loads the classes of one jar; the others of its folder are there for those it needs.
fn load(root: &Path, folder: &Path, machine: &Path, jar: &Path) -> io::Result<bool> {
    let others = jar.parent().unwrap_or(Path::new(".")).join("*");
    let path = format!("{}:{}:{}", folder.display(), jar.display(), others.display());
    let mut record = Command::new(root.join("target/release/reweave"));
    record.args(["record", "-o"]).arg(folder.join("trace.rwt")).arg("--").arg(machine);
    let output = record.args(["-Xverify:all", "-cp", &path, "LoadAll"]).arg(jar).output()?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let good = output.status.success() && !said.contains("REFUSED") && !errors.contains("cannot be rewritten");
    println!("{} {}: {}", machine.display(), jar.display(), said.trim_end());
    for line in errors.lines().filter(|line| !good || line.contains("too long")) {
        println!("    {line}");
    }
    Ok(good)
}
