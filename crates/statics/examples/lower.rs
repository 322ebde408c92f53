//! Lowers all methods of class files or jars, and says how fast: for `cargo xtask bench determinism`.

use std::path::PathBuf;
use std::time::Instant;

use reweave_statics::java::classes::{Classes, MethodId};
use reweave_statics::java::load::load;

fn main() -> Result<(), String> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let loaded = load(&paths)?;
    let mut damage = loaded.damage;
    let mut classes = Classes::new(&loaded.classes, &mut damage);
    let start = Instant::now();
    let (mut bytecodes, mut failed) = (0u64, 0);
    for at in 0..classes.methods.len() {
        match classes.body(MethodId(at as u32)) {
            Some(Ok(body)) => bytecodes += u64::from(body.code.instructions),
            Some(Err(_)) => failed += 1,
            None => {}
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let methods = classes.methods.len();
    println!(
        "{methods} methods, {bytecodes} bytecodes in {seconds:.2} s: {:.0}/s; {failed} failed",
        bytecodes as f64 / seconds
    );
    Ok(())
}
