//! What the ranks of a plan tell each other: that one of them is there and waits, that the other one is done. Eager
//! messages on our communicator; between threads of one rank, flags.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{FLAGS, Handle, Steering, abi, steering};

impl Steering {
    /// Tells the rank of the other access.
    pub(super) fn announce(&self, first: bool, tag: i32) {
        if self.plan.threads {
            FLAGS[tag as usize].store(true, Ordering::Release);
            return;
        }
        let to = self.other(first).0 as i32;
        let mut request: Handle = 0;
        pmpi!(PMPI_Isend(
            std::ptr::null() => *const u8, 0 => i32, abi().byte => Handle, to => i32, tag => i32, self.comm => Handle,
            &mut request => *mut Handle,
        ));
        pmpi!(PMPI_Request_free(&mut request => *mut Handle));
    }
}

/// Waits, polling the library, until the other rank has said `tag`. Returns whether it did.
pub(super) fn hear(first: bool, tag: i32) -> bool {
    let Some((comm, from, patience, threads)) = steering()
        .map(|steering| (steering.comm, steering.other(first).0 as i32, steering.plan.patience, steering.plan.threads))
    else {
        return false;
    };
    let until = Instant::now() + Duration::from_millis(patience);
    if threads {
        while !FLAGS[tag as usize].load(Ordering::Acquire) {
            if Instant::now() > until {
                return false;
            }
            std::thread::yield_now();
        }
        return true;
    }
    let ignore = if abi().open_mpi { 0usize } else { 1 };
    loop {
        let mut there = 0i32;
        pmpi!(PMPI_Iprobe(
            from => i32, tag => i32, comm => Handle, &mut there => *mut i32, ignore => usize
        ));
        if there != 0 {
            pmpi!(PMPI_Recv(
                std::ptr::null_mut() => *mut u8, 0 => i32, abi().byte => Handle, from => i32, tag => i32,
                comm => Handle, ignore => usize,
            ));
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::yield_now();
    }
}
