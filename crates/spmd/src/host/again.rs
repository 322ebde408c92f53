//! What a confirmed finding keeps, and doing it again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reweave_launch::{Error, PrivateFolder, Result};
use serde::{Deserialize, Serialize};

use super::Unpacked;
use super::recording::{cannot_run, program};
use crate::plan::Plan;
use crate::session::{Ordered, Output, steer};

/// The file in the folder of a finding.
const FILE: &str = "orders.json";

/// How both orders of a pair are made to happen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Again {
    command: Vec<String>,
    cwd: PathBuf,
    /// The pair, once in each order.
    plans: [String; 2],
    /// How long a run may take, in seconds.
    limit: u64,
}

/// How it went.
pub struct Replayed {
    /// For each order: whether it happened, and what was read or left then.
    pub orders: Vec<(bool, String)>,
    /// Both happened.
    pub happened: bool,
}

impl Again {
    pub(super) fn new(command: &[OsString], cwd: &Path, plans: &[Plan; 2], limit: Duration) -> Again {
        Again {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: cwd.to_owned(),
            plans: plans.each_ref().map(ToString::to_string),
            limit: limit.as_secs().max(1),
        }
    }

    /// The finding in this folder, if it is one of ranks.
    pub fn open(folder: &Path) -> Option<Again> {
        serde_json::from_str(&fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Is there a finding of ranks in this folder?
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(Error::output("write", &path))
    }

    /// Runs the program in both orders.
    pub fn replay(&self) -> Result<Replayed> {
        let unpacked = Unpacked::new()?;
        let command: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        let program = program(&command, &self.cwd, &unpacked, Duration::from_secs(self.limit));
        let mut orders: Vec<Ordered> = Vec::new();
        for plan in &self.plans {
            let plan: Plan = plan.parse().map_err(|()| Error::NotReplayable {
                path: FILE.into(),
                why: "its plan cannot be read: run `reweave test` again".into(),
            })?;
            let folder = PrivateFolder::new()?;
            let run = steer(&program, folder.path(), &plan, Output::File);
            orders.push(run.map_err(|source| cannot_run(&command, source))?);
        }
        let happened = orders.iter().all(|order| order.happened);
        let told = |(number, order): (usize, &Ordered)| (order.happened, values(order, number == 0));
        Ok(Replayed { happened, orders: orders.iter().enumerate().map(told).collect() })
    }
}

/// What the accesses of a run found, and what was left: `(1) found 0, 2 was left`. `forward`: the first of the plan is
/// (1).
pub(super) fn values(order: &Ordered, forward: bool) -> String {
    let name = |step| if (step == order.plan.first) == forward { "(1)" } else { "(2)" };
    let mut parts: Vec<String> =
        order.values.iter().map(|value| format!("{} found {}", name(value.step), number(&value.bytes))).collect();
    parts.extend(order.left.as_ref().map(|bytes| format!("{} was left", number(bytes))));
    parts.join(", ")
}

/// Hexadecimal bytes as a number, if they may be one. Eight bytes that are no small integer are read as a
/// floating-point number, which is said.
fn number(bytes: &str) -> String {
    let byte = |at: usize| bytes.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let all: Option<Vec<u8>> = (0..bytes.len()).step_by(2).map(byte).collect();
    match all.as_deref() {
        Some(all) if all.iter().all(|byte| *byte == 0) => "0".into(),
        Some([one]) => one.to_string(),
        Some(&[a, b]) => i16::from_le_bytes([a, b]).to_string(),
        Some(&[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).to_string(),
        Some(&[a, b, c, d, e, f, g, h]) => {
            let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let (integer, real) = (word.cast_signed(), f64::from_bits(word));
            match () {
                () if integer.unsigned_abs() < SMALL => integer.to_string(),
                () if ORDINARY.contains(&real.abs()) => format!("{real:?} (as a double)"),
                () => format!("{word:#x}"),
            }
        }
        _ => format!("0x{bytes}"),
    }
}

/// Eight bytes below this are rather an integer: no floating-point number that programs deal in looks so.
const SMALL: u64 = 1 << 48;
/// Sizes of floating-point numbers that programs deal in.
const ORDINARY: std::ops::Range<f64> = 1e-12..1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_may_be_a_number_are_one() {
        assert_eq!(number("02000000"), "2");
        assert_eq!(number("ffffffff"), "-1");
        assert_eq!(number("0000000000000000"), "0");
        assert_eq!(number("000000000000f03f"), "1.0 (as a double)");
        assert_eq!(number("000000000000f8bf"), "-1.5 (as a double)");
        assert_eq!(number("0700000000000000"), "7");
        assert_eq!(number("feffffffffffffff"), "-2");
        assert_eq!(number("efcdab8967452301"), "0x123456789abcdef");
        assert_eq!(number("x"), "0xx");
    }
}
