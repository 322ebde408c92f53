//! Makes the sample reports that the tests of the report's forms read (`tests/reports`): the demo programs, tested
//! once. What is kept is small: the recording and the first finding of the kind.
//!
//! Traces name the sources of the runtime. So that no folder of this machine's user goes into them, `REWEAVE` can name
//! a `reweave` that was built elsewhere (a copy of the repository under /tmp).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kind of finding and program of `crates/cli/demo`.
const SAMPLES: [(&str, &str); 6] = [
    ("race", "bank"),
    ("deadlock", "transfer"),
    ("atomicity", "tickets"),
    ("failure", "ledger"),
    ("misuse", "forgotten"),
    ("nondeterminism", "auction"),
];

/// The same for everybody: the paths are part of the traces.
const FOLDER: &str = "/tmp/reweave-samples";

pub fn make(root: &Path) -> bool {
    let reweave = match std::env::var_os("REWEAVE") {
        Some(path) => PathBuf::from(path),
        None if crate::cargo(&["build", "--package", "reweave"]) => root.join("target/debug/reweave"),
        None => return false,
    };
    SAMPLES.iter().all(|(kind, program)| match sample(root, &reweave, kind, program) {
        Ok(()) => true,
        Err(why) => {
            eprintln!("xtask: {kind}: {why}");
            false
        }
    })
}

fn sample(root: &Path, reweave: &Path, kind: &str, program: &str) -> Result<(), String> {
    let folder = Path::new(FOLDER).join(kind);
    let kept = root.join("tests/reports").join(kind);
    let text = |error: std::io::Error| error.to_string();
    let _ = fs::remove_dir_all(&folder);
    let _ = fs::remove_dir_all(&kept);
    fs::create_dir_all(&folder).map_err(text)?;
    fs::create_dir_all(kept.join("1")).map_err(text)?;
    let source = format!("{program}.c");
    fs::copy(root.join("crates/cli/demo").join(&source), folder.join(&source)).map_err(text)?;
    fs::copy(folder.join(&source), kept.join(&source)).map_err(text)?;
    let run = |arguments: &str| {
        let mut command = Command::new(reweave);
        command.args(arguments.split(' ')).current_dir(&folder);
        // The environment is part of a trace: nothing of this machine goes in.
        command.env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", FOLDER)]);
        command.status().map(|status| status.code()).map_err(text)
    };
    // Sources are named from the folder they are in, wherever that is.
    let map = format!("-fdebug-prefix-map={}=.", folder.display());
    if run(&format!("cc -g {map} -o {program} {source} -lpthread"))? != Some(0) {
        return Err("does not build".into());
    }
    let out = folder.join("reweave-out");
    if kind == "nondeterminism" {
        fs::create_dir_all(&out).map_err(text)?;
        run(&format!("record -o reweave-out/recording.rwt -- ./{program}"))?;
        run("predict reweave-out/recording.rwt --deny nondeterminism --json reweave-out/report.json")?;
        let _ = fs::remove_dir_all(kept.join("1"));
    } else {
        run(&format!("test --budget 20s -- ./{program}"))?;
    }
    fs::copy(out.join("recording.rwt"), kept.join("recording.rwt")).map_err(text)?;
    let report = fs::read_to_string(out.join("report.json")).map_err(text)?;
    let mut report: serde_json::Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let findings = report["findings"].as_array_mut().ok_or("no findings")?;
    findings.retain(|finding| finding["kind"] == kind);
    findings.truncate(1);
    let first = findings.first_mut().ok_or("no finding of this kind")?;
    let id = first["id"].to_string();
    first["id"] = 1.into();
    if kind != "nondeterminism" {
        first["schedule"] = "1/schedule.rws".into();
        for file in ["trace.rwt", "command.json", "schedule.rws"] {
            fs::copy(out.join(&id).join(file), kept.join("1").join(file)).map_err(text)?;
        }
    }
    let pretty = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n";
    fs::write(kept.join("report.json"), pretty).map_err(text)
}
