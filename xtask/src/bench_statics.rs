//! `cargo xtask bench determinism`: what the static analysis of Java programs costs and how that grows. Not a test:
//! nothing here fails because a number is high.
//!
//! The programs are made up: classes with counters, arrays, locks and calls into each other, and a few threads that go
//! through them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{self, Cost};
use crate::bench_java;

/// Classes of each program; one is about two hundred bytecodes.
const SIZES: [u32; 5] = [5, 20, 50, 150, 500];
const THREADS: u32 = 4;

pub fn run(root: &Path) -> io::Result<()> {
    let reweave = std::env::var_os("REWEAVE_BENCH").map_or_else(|| root.join("target/release/reweave"), PathBuf::from);
    println!("| classes | bytecodes | CPU s | MiB | bytecodes/s |");
    println!("| --- | --- | --- | --- | --- |");
    for size in SIZES {
        let folder = root.join(format!("target/bench/determinism/{size}"));
        fs::create_dir_all(&folder)?;
        let source = folder.join("Large.java");
        fs::write(&source, program(size))?;
        if !Command::new("javac").args(["-g", "-d"]).arg(&folder).arg(&source).status()?.success() {
            return Err(io::Error::other("the program does not compile"));
        }
        let bytecodes = bytecodes(&folder)?;
        let mut command = Command::new(&reweave);
        command.args(["determinism", "--main", "Large", "--budget", "600s"]).arg(&folder);
        let Cost { cpu, memory_kib, .. } = bench::measure(command)?;
        let (memory, speed) = (memory_kib / 1024, f64::from(bytecodes) / cpu);
        println!("| {size} | {bytecodes} | {cpu:.2} | {memory} | {speed:.0} |");
    }
    let classes = bench_java::jdk_classes(&root.join("target/bench/java"))?;
    let example = root.join("target/release/examples/lower");
    let output = Command::new(&example).arg(&classes).output()?;
    print!("\nlowering java.base: {}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// Instructions of all classes in a folder.
fn bytecodes(folder: &Path) -> io::Result<u32> {
    let classes = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let classes =
        classes.iter().map(fs::DirEntry::path).filter(|path| path.extension().is_some_and(|own| own == "class"));
    let output = Command::new("javap").args(["-c", "-p"]).args(classes).output()?;
    let is_instruction = |line: &&str| {
        line.trim_start().split_once(": ").is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter(is_instruction).count() as u32)
}

fn program(size: u32) -> String {
    let mut text = String::new();
    for at in 0..size {
        let (next, far) = ((at + 1) % size, (at * 7 + 3) % size);
        let _ = write!(
            text,
            "class Part{at} {{
  int count; int[] cells = new int[64]; Part{next} next; static int total; final Object lock = new Object();
  Part{at}(int depth) {{ if (depth > 0) next = new Part{next}(depth - 1); for (int i = 0; i < 64; i++) cells[i] = i; }}
  void add(int by) {{ synchronized (lock) {{ count += by; }} synchronized (Part{at}.class) {{ total += by; }} }}
  int sum(int from, int to) {{
    int sum = 0;
    for (int i = from; i < to; i++) {{ if ((cells[i] & 1) == 0) sum += cells[i] * 3; else sum -= cells[i] / 2; }}
    return sum;
  }}
  void fill(int from, int to, int with) {{ for (int i = from; i < to; i++) cells[i] = with + Large.table[i]; }}
  int work(int id, int depth) {{
    int low = id * 16, high = (id + 1) * 16;
    fill(low, high, depth);
    add(sum(low, high));
    int more = depth > 0 && next != null ? next.work(id, depth - 1) : 0;
    int other = depth > 1 ? Part{far}.least(id, depth) : id;
    return Math.max(more, other) + Part{at}.least(id, more);
  }}
  static int least(int one, int other) {{
    int least = one < other ? one : other;
    switch (least & 3) {{ case 0: return least; case 1: return least + 1; case 2: return least * 2; default: return -least; }}
  }}
}}
"
        );
    }
    let _ = write!(
        text,
        "public class Large {{
  static final int[] table = new int[64]; static final Part0 first = new Part0({size}); static final int[] results = new int[{THREADS}];
  static class Worker extends Thread {{
    final int id; Worker(int id) {{ this.id = id; }}
    public void run() {{ results[id] = first.work(id, {size}); }}
  }}
  public static void main(String[] arguments) throws InterruptedException {{
    for (int i = 0; i < 64; i++) table[i] = i * i;
    Worker[] workers = new Worker[{THREADS}];
    for (int i = 0; i < {THREADS}; i++) {{ workers[i] = new Worker(i); workers[i].start(); }}
    for (int i = 0; i < {THREADS}; i++) workers[i].join();
    int sum = 0;
    for (int result : results) sum += result;
    System.out.println(sum + Part0.total);
  }}
}}
"
    );
    text
}
