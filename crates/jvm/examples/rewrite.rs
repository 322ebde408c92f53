//! Rewrites the class files of a folder into another one, and says how long that took and what was left out:
//! `cargo run --example rewrite -- IN OUT [--preloaded-java-lang] [--stops] [--synchronization]`.
//!
//! With `/dev/null` as OUT nothing is written. Every class is also read and written unchanged, which must give its
//! bytes.

use reweave_jvm::classfile::{ClassFile, Code};
use reweave_jvm::rewrite::{Options, Scope, Stop, rewrite};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, flags @ ..] = &arguments[..] else {
        return Err("usage: rewrite IN OUT [--preloaded-java-lang] [--stops] [--synchronization]".into());
    };
    let has = |flag: &str| flags.iter().any(|own| own == flag);
    let mut files = Vec::new();
    collect(Path::new(from), &mut files)?;
    let inputs = files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    for (file, input) in files.iter().zip(&inputs) {
        round_trip(input).map_err(|error| format!("{}: {error}", file.display()))?;
    }

    let is_preloaded = |name: &str| has("--preloaded-java-lang") && name.starts_with("java/lang/");
    let in_folder = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        !is_preloaded(&name) && Path::new(from).join(format!("{name}.class")).exists() && name != "java/lang/Object"
    };
    let started = Instant::now();
    let (mut first_site, mut changed, mut bytes_before, mut bytes_after) = (1 << 20, 0, 0, 0);
    let mut results = Vec::new();
    for (file, input) in files.iter().zip(&inputs) {
        let name = file.strip_prefix(from)?.with_extension("");
        let options = Options {
            first_site,
            preloaded: is_preloaded(&name.to_string_lossy()),
            has_address: &in_folder,
            scope: if has("--synchronization") { Scope::Synchronization } else { Scope::Everything },
            calls: !has("--no-calls"),
            array_births: true,
            stop: if has("--stops") { Stop::Everywhere } else { Stop::Nowhere },
        };
        let result = rewrite(input, &options).map_err(|error| format!("{}: {error}", file.display()))?;
        first_site += result.facts.sites.len() as u32;
        bytes_before += input.len();
        bytes_after += result.bytes.as_ref().map_or(input.len(), Vec::len);
        changed += usize::from(result.bytes.is_some());
        results.push(result);
    }
    let took = started.elapsed();
    println!(
        "{} classes, {changed} rewritten, {} sites, {bytes_before} -> {bytes_after} bytes, {:.3} s, {:.0} classes/s",
        files.len(),
        first_site - (1 << 20),
        took.as_secs_f64(),
        files.len() as f64 / took.as_secs_f64(),
    );
    for (result, (file, input)) in results.iter().zip(files.iter().zip(&inputs)) {
        for left_out in &result.facts.left_out {
            let method = &result.facts.methods[usize::from(left_out.method)];
            println!("{}.{}{}: left out {:?}", result.facts.name, method.name, method.descriptor, left_out.what);
        }
        if to != "/dev/null" {
            let target = Path::new(to).join(file.strip_prefix(from)?);
            fs::create_dir_all(target.parent().ok_or("no folder")?)?;
            fs::write(target, result.bytes.as_ref().unwrap_or(input))?;
        }
    }
    Ok(())
}

fn round_trip(input: &[u8]) -> Result<(), Box<dyn Error>> {
    let class = ClassFile::parse(input)?;
    if class.write()? != input {
        return Err("not the same when written again".into());
    }
    for method in &class.methods {
        for attribute in &method.attributes {
            if class.pool.utf8(attribute.name)? == b"Code" {
                let code = Code::parse(&attribute.bytes)?;
                if code.write()? != *attribute.bytes {
                    return Err("a method is not the same when written again".into());
                }
            }
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "class") {
            files.push(path);
        }
    }
    Ok(())
}
