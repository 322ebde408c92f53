//! What `reweave determinism` knows of reads, kept in a file for `reweave test`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use reweave_hunt::known::{KnownReads, Line};
use reweave_launch::Error;
use reweave_report::sha256::sha256;
use reweave_statics::expected::Expected;
use serde::{Deserialize, Serialize};

/// Version of the file.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Facts {
    version: u32,
    /// Where the code is that they are about.
    paths: Vec<PathBuf>,
    /// Its files and the hashes of what is in them.
    code: BTreeMap<PathBuf, String>,
    /// `FILE:LINE` of reads that may see another write.
    doubtful: Vec<String>,
    /// `FILE:LINE` where every read always sees the same write.
    fixed: Vec<String>,
}

/// Writes what is known of the reads of a program.
pub fn write(path: &Path, paths: &[PathBuf], expected: &Expected) -> Result<(), Error> {
    let shown = |line: &Line| format!("{}:{}", line.0, line.1);
    let whole = |path: &PathBuf| path.canonicalize().map_err(Error::io("read", path));
    let paths: Vec<PathBuf> = paths.iter().map(whole).collect::<Result<_, Error>>()?;
    let facts = Facts {
        version: VERSION,
        code: hashes(&paths)?,
        paths,
        doubtful: expected.doubtful.iter().chain(&expected.unknown).map(shown).collect(),
        fixed: expected.fixed().map(shown).collect(),
    };
    let text = serde_json::to_string_pretty(&facts).map_err(io::Error::from).map_err(Error::output("write", path))?;
    fs::write(path, text + "\n").map_err(Error::output("write", path))
}

/// What a file says of reads: hints, or facts as well, which must be about the code that is there now.
pub fn read(hints: Option<&Path>, facts: Option<&Path>) -> Result<KnownReads, Error> {
    let mut known = KnownReads::default();
    if let Some(path) = hints {
        known.doubtful.extend(parse(path)?.doubtful.iter().filter_map(|text| line(text)));
    }
    if let Some(path) = facts {
        let facts = parse(path)?;
        if hashes(&facts.paths)? != facts.code {
            let why = "these facts are about another build of this code: run `reweave determinism` again";
            return Err(Error::NotReplayable { path: path.to_owned(), why: why.to_owned() });
        }
        known.fixed.extend(facts.fixed.iter().filter_map(|text| line(text)));
    }
    Ok(known)
}

fn line(text: &str) -> Option<Line> {
    let (file, line) = text.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

fn parse(path: &Path) -> Result<Facts, Error> {
    let not = |why: String| Error::NotReplayable { path: path.to_owned(), why };
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let facts: Facts = serde_json::from_str(&text)
        .map_err(|error| not(format!("no facts about reads: {error}: `reweave determinism --facts` writes them")))?;
    match facts.version {
        VERSION => Ok(facts),
        other => Err(not(format!("facts of version {other}, this build reads {VERSION}: write them again"))),
    }
}

/// Files, and those in folders, with their hashes.
fn hashes(paths: &[PathBuf]) -> Result<BTreeMap<PathBuf, String>, Error> {
    let mut rest: Vec<PathBuf> = paths.to_vec();
    let mut all = BTreeMap::new();
    while let Some(path) = rest.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path).map_err(Error::io("read", &path))? {
                let path = entry.map_err(Error::io("read", &path))?.path();
                let is_code = path.extension().is_some_and(|ending| ending == "class" || ending == "jar");
                if is_code || path.is_dir() && !path.is_symlink() {
                    rest.push(path);
                }
            }
            continue;
        }
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        all.insert(path, sha256(&bytes).iter().map(|byte| format!("{byte:02x}")).collect());
    }
    Ok(all)
}
