//! `reweave convert`

use std::path::PathBuf;

use reweave_launch::exit;

use crate::output;

/// Convert a trace to another format, chosen by the extension of OUT
///
/// rwt (ours), std (`thread|op(operand)|location`, as exchanged by researchers), csv and jsonl (lossless for events).
/// What the other format cannot hold is left out and counted.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave convert reweave.rwt trace.std\n  \
    reweave convert reweave.rwt events.jsonl\n  \
    reweave convert benchmark.std benchmark.rwt")]
pub struct Args {
    #[arg(value_name = "IN")]
    from: PathBuf,
    #[arg(value_name = "OUT")]
    to: PathBuf,
}

pub fn run(args: Args) -> i32 {
    match reweave_trace::convert(&args.from, &args.to) {
        Ok(left_out) => {
            if !left_out.is_empty() {
                let list: Vec<String> = left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
                eprintln!("reweave: left out, as {} has no way to say it: {}", args.to.display(), list.join(", "));
            }
            exit::CLEAN
        }
        Err(error) => output::fail_trace(error),
    }
}
