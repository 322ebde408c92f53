//! `cargo xtask bench java`: what recording costs on a Java machine, as ratios measured in one run.
//!
//! The kernels are in `benches/java`. Each runs plain (with the options that `reweave` sets, without the agent) and
//! recorded, in turn; the median counts. CPU time includes the process that writes the trace. Not a test: nothing here
//! fails because a number is high.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{self, Cost};

const RUNS: usize = 3;

/// Programs and their arguments; the first ones make the mean.
const KERNELS: [&[&str]; 5] = [
    &["MolecularDynamics", "60"],
    &["RayTracer", "300"],
    &["MonteCarlo", "30000"],
    &["OverRelaxation", "300"],
    &["SparseMultiply", "300"],
];
const OTHERS: [&[&str]; 4] = [
    &["Monitors", "3000"],
    &["Library", "collections", "300000"],
    &["Library", "streams", "3000000"],
    &["Library", "reflection", "300000"],
];

/// Millions of accesses, and thousands of turns that are handed over.
const ACCESSES: u32 = 100;
const TURNS: u32 = 200;

/// What `reweave` sets, as far as it changes how fast a program is.
const OPTIONS: [&str; 6] = [
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:hashCode=3",
    "-XX:-DontCompileHugeMethods",
    "-XX:DisableIntrinsic=_nanoTime,_currentTimeMillis,_copyOf,_copyOfRange",
    "-XX:-OptimizeStringConcat",
    "-ea",
];

struct Bench {
    folder: PathBuf,
    reweave: PathBuf,
}

pub fn run(root: &Path) -> io::Result<()> {
    let folder = root.join("target/bench/java");
    fs::create_dir_all(&folder)?;
    let sources = fs::read_dir(root.join("benches/java"))?.collect::<io::Result<Vec<_>>>()?;
    let files = sources.iter().map(fs::DirEntry::path).filter(|path| path.extension().is_some_and(|own| own == "java"));
    if !Command::new("javac").arg("-d").arg(&folder).args(files).status()?.success() {
        return Err(io::Error::other("the kernels do not compile"));
    }
    let reweave = std::env::var_os("REWEAVE_BENCH").map_or_else(|| root.join("target/release/reweave"), PathBuf::from);
    let bench = Bench { folder, reweave };
    println!("median of {RUNS} runs; ratios of CPU time (wall time in brackets)\n");
    println!("| program | plain, s | recorded ÷ plain | bytes/event |");
    println!("| --- | --- | --- | --- |");
    let mut product = 1.0;
    for kernel in KERNELS {
        product *= bench.row(kernel)?;
    }
    println!("| geometric mean | | {:.2} | |", f64::powf(product, 1.0 / KERNELS.len() as f64));
    for other in OTHERS {
        bench.row(other)?;
    }
    bench.single_numbers()?;
    bench.rewriting(root)
}

impl Bench {
    fn plain(&self, program: &[&str]) -> Command {
        let mut command = Command::new("java");
        command.args(OPTIONS).arg("-cp").arg(&self.folder).args(program);
        command
    }

    fn recorded(&self, program: &[&str]) -> Command {
        let mut command = Command::new(&self.reweave);
        command.args(["record", "--max-trace", "40G", "-o"]).arg(self.trace()).args(["--", "java", "-cp"]);
        command.arg(&self.folder).args(program);
        command
    }

    fn trace(&self) -> PathBuf {
        self.folder.join("trace.rwt")
    }

    /// Medians of the program, plain and recorded.
    fn both(&self, program: &[&str]) -> io::Result<(Cost, Cost)> {
        let (mut plain, mut recorded) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            plain.push(bench::measure(self.plain(program))?);
            recorded.push(bench::measure(self.recorded(program))?);
        }
        Ok((bench::median(plain), bench::median(recorded)))
    }

    /// Prints a line about a program; the ratio.
    fn row(&self, program: &[&str]) -> io::Result<f64> {
        let (plain, recorded) = self.both(program)?;
        let bytes = bench::bytes_per_event(&self.reweave, &self.trace())?;
        let ratio = bench::ratio(recorded, plain);
        println!("| {} | {:.2} | {ratio} | {bytes:.2} |", program.join(" "), plain.cpu);
        fs::remove_file(self.trace())?;
        Ok(recorded.cpu / plain.cpu)
    }

    fn single_numbers(&self) -> io::Result<()> {
        let accesses = ACCESSES.to_string();
        let program = ["Accesses", &accesses];
        let (plain, recorded) = (own_cpu(self.plain(&program))?, own_cpu(self.recorded(&program))?);
        println!("\nhook: {:.1} ns of the program's CPU per access", 1e3 * (recorded - plain) / f64::from(ACCESSES));
        let turns = TURNS.to_string();
        let (_, recorded) = self.both(&["HandOver", &turns])?;
        println!("turns: {:.0} thousand handed over per second", f64::from(TURNS) / recorded.wall);
        let (plain, recorded) = self.both(&["Hello"])?;
        println!("hello: {:.2} s CPU more than {:.2}", recorded.cpu - plain.cpu, plain.cpu);
        fs::remove_file(self.trace())
    }

    /// How fast the classes of the JDK are rewritten, and how many were left out.
    fn rewriting(&self, root: &Path) -> io::Result<()> {
        let classes = jdk_classes(&self.folder)?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root).args(["run", "-q", "--release", "-p", "reweave-jvm", "--example", "rewrite", "--"]);
        let output = cargo.arg(&classes).arg("/dev/null").output()?;
        print!("rewriting java.base: {}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

/// The classes of the JDK's base module, unpacked in a folder.
pub fn jdk_classes(folder: &Path) -> io::Result<PathBuf> {
    let classes = folder.join("classes");
    if !classes.exists() {
        let home = Command::new("java").args(["-XshowSettings:properties", "-version"]).output()?;
        let text = String::from_utf8_lossy(&home.stderr).into_owned();
        let home = text.lines().find_map(|line| line.trim().strip_prefix("java.home = "));
        let image = Path::new(home.unwrap_or_default()).join("lib/modules");
        let mut unpack = Command::new("jimage");
        unpack.args(["extract", "--include", "regex:/java.base/.*"]).arg("--dir").arg(&classes).arg(image);
        unpack.status()?;
    }
    Ok(classes.join("java.base"))
}

/// The CPU time that a program says it has used, in milliseconds.
fn own_cpu(mut command: Command) -> io::Result<f64> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().find_map(|line| line.strip_prefix("ms: ")?.parse().ok());
    said.ok_or_else(|| io::Error::other(format!("{command:?} does not say its CPU time: {text}")))
}
