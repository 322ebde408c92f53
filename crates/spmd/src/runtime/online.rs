//! The analysis while the program runs, inside the ranks (chapter 7 of the paper): what a rank did since the last
//! boundary goes to the owners of the memory, which judge it. No rank is the central one, and none keeps more than two
//! phases.
//!
//! A boundary is a blocking collective that all ranks of the program wait for, and a fence on a window that all of them
//! have. The exchange of counts is a barrier, so it goes where the program's own is; packets travel during the next
//! phase. Beyond [`DENSE`] ranks nobody counts: what was sent is known to have been taken, and a barrier that does not
//! block says when all of it was (Hoefler et al. 2010, the NBX exchange), so no rank needs memory for each other one.
//!
//! The log is the memory of a phase: at a boundary it is read, and begins anew. Every rank makes the same boundaries; of
//! several threads it does not matter which of them makes which.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::abi::{ANY_TAG, Handle, STATUS, abi};
use super::with;
use crate::event::{Logged, Operator};
use crate::ids::Rank;
use crate::logfile;
use crate::look::Owners;
use crate::owner::{Findings, Found, Statement};
use crate::phases::{Analyst, Transport};
use crate::rules::Verdict;
use crate::wire::{Wire, each};

/// Up to so many ranks everybody tells everybody how much comes.
const DENSE: usize = 64;
const TAG: i32 = 3;
/// Bytes that an entry takes in the log at least, to know how many fit.
const ENTRY: usize = 8;

struct Online {
    analyst: Analyst,
    network: Network,
    /// The strongest that was told of each pair of statements.
    told: BTreeMap<(Statement, Statement), Verdict>,
    file: File,
    given_up: u64,
}

static ONLINE: Mutex<Option<Online>> = Mutex::new(None);
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// MPI is there, and somebody wants the analysis now. Returns whether it can be had.
pub fn begin(folder: &Path, me: Rank, ranks: u32, limit: usize, owners: Owners) -> bool {
    let mut comm: Handle = 0;
    if pmpi!(PMPI_Comm_dup(abi().world => Handle, &mut comm => *mut Handle)) != 0 {
        return false;
    }
    let Ok(file) = File::create(folder.join(logfile::found_name(me.0))) else { return false };
    let network = Network { comm, ranks: ranks as usize, sends: Vec::new(), receives: Vec::new(), here: Vec::new() };
    let analyst = Analyst::new(me, limit / ENTRY).of_owners(owners);
    let online = Online { analyst, network, told: BTreeMap::new(), file, given_up: 0 };
    *ONLINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(online);
    ACTIVE.store(true, Ordering::Release);
    true
}

/// A call was entered, and logged, that everybody waits for: the phase ends here. `members`: who waits. Returns whether
/// everybody has waited for everybody.
pub fn boundary(members: u32) -> bool {
    ACTIVE.load(Ordering::Acquire) && step(Some(members))
}

/// The end of the program: everything that is left is judged.
pub fn end() {
    if ACTIVE.swap(false, Ordering::AcqRel) {
        step(None);
    }
}

/// `members`: who waits; `None`: everybody, for the last time.
fn step(members: Option<u32>) -> bool {
    let mut guard = ONLINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(online) = guard.as_mut() else { return false };
    if members.is_some_and(|members| members as usize != online.network.ranks) {
        return false;
    }
    // No lock of the log's is held while ranks wait for each other.
    let bytes = with(|state| state.phase()).unwrap_or_default();
    each::<Logged>(&bytes).for_each(|logged| online.analyst.take(&logged));
    let findings = online.analyst.boundary(&mut online.network);
    online.tell(findings);
    if members.is_none() {
        let findings = online.analyst.settle(&mut online.network);
        online.tell(findings);
        let counts = online.analyst.counts;
        let given_up = online.given_up;
        with(|state| state.counted(&counts, given_up));
        pmpi!(PMPI_Comm_free(&mut online.network.comm => *mut Handle));
    }
    true
}

impl Online {
    /// Writes what is new at once: a rank that is killed later loses nothing.
    fn tell(&mut self, findings: Findings) {
        self.given_up += findings.given_up as u64;
        for (statements, found) in findings.pairs {
            let known = self.told.get(&statements);
            if known.is_none_or(|known| *known < found.verdict) {
                self.told.insert(statements, found.verdict);
                self.write(&found);
            }
        }
    }

    fn write(&mut self, found: &Found) {
        let mut bytes = Vec::new();
        found.put(&mut bytes);
        let _ = self.file.write_all(&bytes);
    }
}

/// The other ranks, on a communicator of ours.
struct Network {
    comm: Handle,
    ranks: usize,
    /// Requests of what is under way, each with its bytes.
    sends: Vec<(Handle, Vec<u8>)>,
    receives: Vec<(Handle, Vec<u8>)>,
    /// What has arrived.
    here: Vec<Vec<u8>>,
}

fn ignored() -> usize {
    if abi().open_mpi { 0 } else { 1 }
}

fn wait(request: &mut Handle) {
    pmpi!(PMPI_Wait(request => *mut Handle, ignored() => usize));
}

impl Network {
    fn send(&self, to: Rank, bytes: &[u8], synchronous: bool) -> Handle {
        let mut request: Handle = 0;
        let (count, to) = (bytes.len() as i32, to.0 as i32);
        if synchronous {
            pmpi!(PMPI_Issend(
                bytes.as_ptr() => *const u8, count => i32, abi().byte => Handle, to => i32, TAG => i32,
                self.comm => Handle, &mut request => *mut Handle,
            ));
        } else {
            pmpi!(PMPI_Isend(
                bytes.as_ptr() => *const u8, count => i32, abi().byte => Handle, to => i32, TAG => i32,
                self.comm => Handle, &mut request => *mut Handle,
            ));
        }
        request
    }

    /// Everybody tells everybody how much comes, and yes or no.
    fn dense(&mut self, packets: Vec<(Rank, Vec<u8>)>, yes: bool) -> bool {
        let mut counts = vec![u64::from(yes); self.ranks];
        for (to, packet) in &packets {
            counts[to.0 as usize] |= (packet.len() as u64) << 1;
        }
        let mut coming = vec![0u64; self.ranks];
        pmpi!(PMPI_Alltoall(
            counts.as_ptr().cast() => *const u8, 8 => i32, abi().byte => Handle, coming.as_mut_ptr().cast() => *mut u8,
            8 => i32, abi().byte => Handle, self.comm => Handle,
        ));
        let any = coming.iter().any(|count| count & 1 != 0);
        let lens = coming.into_iter().map(|count| count >> 1).enumerate();
        for (from, len) in lens.filter(|(_, len)| *len > 0) {
            let mut bytes = vec![0u8; len as usize];
            let mut request: Handle = 0;
            pmpi!(PMPI_Irecv(
                bytes.as_mut_ptr() => *mut u8, len as i32 => i32, abi().byte => Handle, from as i32 => i32, TAG => i32,
                self.comm => Handle, &mut request => *mut Handle,
            ));
            self.receives.push((request, bytes));
        }
        for (to, packet) in packets {
            let request = self.send(to, &packet, false);
            self.sends.push((request, packet));
        }
        any
    }

    /// Nobody counts.
    fn sparse(&mut self, packets: Vec<(Rank, Vec<u8>)>) {
        let mut sends: Vec<(Handle, Vec<u8>)> = Vec::new();
        for (to, packet) in packets {
            sends.push((self.send(to, &packet, true), packet));
        }
        let mut barrier: Option<Handle> = None;
        loop {
            self.take_one();
            match &mut barrier {
                Some(request) => {
                    if is_done(request) {
                        return;
                    }
                }
                None => {
                    sends.retain_mut(|(request, _)| !is_done(request));
                    if sends.is_empty() {
                        let mut request: Handle = 0;
                        pmpi!(PMPI_Ibarrier(self.comm => Handle, &mut request => *mut Handle));
                        barrier = Some(request);
                    }
                }
            }
        }
    }

    /// Takes a packet that is there, whoever sent it.
    fn take_one(&mut self) {
        let (mut there, mut status) = (0i32, [0u8; STATUS]);
        pmpi!(PMPI_Iprobe(
            abi().any_source => i32, ANY_TAG => i32, self.comm => Handle, &mut there => *mut i32,
            status.as_mut_ptr() => *mut u8,
        ));
        if there == 0 {
            return;
        }
        let mut len = 0i32;
        pmpi!(PMPI_Get_count(status.as_ptr() => *const u8, abi().byte => Handle, &mut len => *mut i32));
        // SAFETY: the library filled the status.
        let (from, tag) = unsafe { abi().source_and_tag(status.as_ptr()) };
        let mut bytes = vec![0u8; len.max(0) as usize];
        pmpi!(PMPI_Recv(
            bytes.as_mut_ptr() => *mut u8, len => i32, abi().byte => Handle, from => i32, tag => i32,
            self.comm => Handle, ignored() => usize,
        ));
        self.here.push(bytes);
    }
}

fn is_done(request: &mut Handle) -> bool {
    let mut done = 0i32;
    pmpi!(PMPI_Test(request => *mut Handle, &mut done => *mut i32, ignored() => usize));
    done != 0
}

impl Transport for Network {
    fn distribute(&mut self, packets: Vec<(Rank, Vec<u8>)>, yes: bool) -> bool {
        if self.ranks <= DENSE {
            return self.dense(packets, yes);
        }
        self.sparse(packets);
        self.any(yes)
    }

    fn arrived(&mut self) -> Vec<Vec<u8>> {
        for (mut request, bytes) in std::mem::take(&mut self.receives) {
            wait(&mut request);
            self.here.push(bytes);
        }
        for (mut request, _) in std::mem::take(&mut self.sends) {
            wait(&mut request);
        }
        std::mem::take(&mut self.here)
    }

    fn any(&mut self, yes: bool) -> bool {
        let (mine, mut all) = ([u8::from(yes)], [0u8]);
        pmpi!(PMPI_Allreduce(
            mine.as_ptr() => *const u8, all.as_mut_ptr() => *mut u8, 1 => i32, abi().byte => Handle,
            abi().operation(Operator::BitOr) => Handle, self.comm => Handle,
        ));
        all[0] != 0
    }

    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let mine = bytes.len() as i32;
        let mut lens = vec![0i32; self.ranks];
        pmpi!(PMPI_Allgather(
            (&raw const mine).cast() => *const u8, 4 => i32, abi().byte => Handle,
            lens.as_mut_ptr().cast() => *mut u8, 4 => i32, abi().byte => Handle, self.comm => Handle,
        ));
        let mut places = Vec::with_capacity(self.ranks);
        let mut total = 0i32;
        for len in &lens {
            places.push(total);
            total += len;
        }
        let mut all = vec![0u8; total as usize];
        pmpi!(PMPI_Allgatherv(
            bytes.as_ptr() => *const u8, mine => i32, abi().byte => Handle, all.as_mut_ptr() => *mut u8,
            lens.as_ptr() => *const i32, places.as_ptr() => *const i32, abi().byte => Handle, self.comm => Handle,
        ));
        let of = |(place, len): (&i32, &i32)| all[*place as usize..(place + len) as usize].to_vec();
        places.iter().zip(&lens).map(of).collect()
    }
}
