//! A rank that waits for a debugger right before its access of the pair.
//!
//! It says so in a file, polls the library as every rank that waits, and traps once somebody traces it: the debugger
//! then stands in this library, one or a few frames below the program's statement.

use std::time::Duration;

use super::{abi, steering};
use crate::logfile;

/// If this rank is to be debugged, and an access of the pair was found just now.
pub(super) fn for_debugger() {
    let wanted = steering().and_then(|mut steering| std::mem::take(&mut steering.stops).then_some(steering.comm));
    let Some(comm) = wanted else { return };
    let Some(path) = steering().map(|steering| steering.folder.join(logfile::stopped_name(steering.me.0))) else {
        return;
    };
    // SAFETY: whoever may trace this process anyway is let in, child of ours or not.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::MAX, 0, 0, 0) };
    let written = path.with_extension("new");
    let said = std::fs::write(&written, std::process::id().to_string()).and_then(|()| std::fs::rename(&written, &path));
    if said.is_err() {
        return;
    }
    let ignore = if abi().open_mpi { 0usize } else { 1 };
    while !is_traced() {
        let mut there = 0i32;
        pmpi!(PMPI_Iprobe(
            abi().any_source => i32, super::super::abi::ANY_TAG => i32, comm => super::Handle, &mut there => *mut i32,
            ignore => usize,
        ));
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: somebody traces us.
    unsafe { std::arch::asm!("int3", options(nomem, nostack)) };
}

fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}
