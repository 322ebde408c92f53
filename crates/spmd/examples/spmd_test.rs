//! Records an SPMD program, judges it, and makes what was found happen: `spmd_test RUNTIME -- mpirun …`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use reweave_spmd::rules::Verdict;
use reweave_spmd::session::{Program, confirm, plans, record};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let runtime = PathBuf::from(arguments.next().unwrap_or_default());
    let command: Vec<OsString> = arguments.skip(1).collect();
    let program = Program { command, runtime, limit: Duration::from_secs(30) };
    let folder = std::env::temp_dir().join(format!("reweave-spmd.{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let recorded = record(&program, &folder)?;
    let (mut races, mut confirmed, mut different) = (0, 0, 0);
    for (number, found) in recorded.races.found.iter().enumerate() {
        let describe = |access: &reweave_spmd::access::Access| {
            format!("{:?}@{:x} rank {}", access.role, access.site.0 & 0xffff_ffff_ffff, access.strand.rank)
        };
        println!("{:?}: {} / {}", found.verdict, describe(&found.a), describe(&found.b));
        if found.verdict != Verdict::Race {
            continue;
        }
        races += 1;
        let Some(plans) = plans(&recorded.logs, found) else {
            println!("  cannot be steered");
            continue;
        };
        let result = confirm(&program, &folder.join(format!("pair.{number}")), &plans)?;
        for order in &result.orders {
            println!(
                "  {} then {}: met {}, happened {}, status {}, values {:?}, output {:?}",
                order.plan.first,
                order.plan.second,
                order.met,
                order.happened,
                order.ended.status,
                order.values,
                String::from_utf8_lossy(&order.ended.output).trim()
            );
        }
        confirmed += usize::from(result.confirmed());
        different += usize::from(result.confirmed() && result.differs());
    }
    println!("status {}, races {races}, confirmed {confirmed}, different {different}", recorded.ended.status);
    std::fs::remove_dir_all(folder)?;
    std::process::exit(i32::from(races > 0));
}
