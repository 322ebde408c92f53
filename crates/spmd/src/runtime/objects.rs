//! Communicators, windows, requests: what handles of the library stand for on this rank.

use std::collections::HashSet;

use super::abi::{Handle, abi};
use super::again;
use super::datatypes::Datatypes;
use super::gather::Gather;
use super::log::{Log, Notes};
use super::quick::Map;
use super::recent::{self, Untold};
use crate::event::{Buffer, Collective, Event, Logged, Place};
use crate::ids::{Communicator, Rank, Request, Site, Window};
use crate::phases::Counts;

pub struct State {
    pub me: Rank,
    pub log: Log,
    pub datatypes: Datatypes,
    pub communicators: Map<Handle, Comm>,
    pub windows: Map<Handle, Win>,
    pub requests: Map<Handle, Req>,
    pub persistent: Map<Handle, Persistent>,
    /// Windows and targets that this rank has locked; `None`: all of them.
    pub locked: HashSet<(Handle, Option<i32>)>,
    /// Every window that was made: what a finding is told by.
    made: Vec<Logged>,
    made_communicators: u32,
    made_windows: u32,
    made_requests: u64,
    sites: Map<u64, Site>,
    modules: Vec<u64>,
    notes: Notes,
    /// Operations that statements issue again and again.
    pub again: again::Table,
    /// Of the first strand, and of the others: what it gathers, and how many calls it has logged.
    first: (Gather, u64),
    others: Map<u32, (Gather, u64)>,
    /// What a statement of a strand loaded last: the address, and the value.
    loaded: Map<(u32, Site), (u64, u64)>,
    /// Results of operations that are under way and fetch one element.
    pub fetches: Vec<Fetched>,
    /// Calls that are not understood, by name.
    not_understood: Map<&'static str, u64>,
}

/// A communicator: its agreed name, and the ranks of its members in the world.
#[derive(Clone)]
pub struct Comm {
    pub id: Communicator,
    pub size: u32,
    /// `None`: the world itself.
    pub members: Option<Vec<u32>>,
    pub collectives: u32,
}

impl Comm {
    pub fn rank(&self, number: i32) -> Rank {
        match &self.members {
            None => Rank(number as u32),
            Some(members) => Rank(members.get(number as usize).copied().unwrap_or(u32::MAX)),
        }
    }

    pub fn everybody(&self) -> Vec<Rank> {
        (0..self.size as i32).map(|number| self.rank(number)).collect()
    }
}

#[derive(Clone)]
pub struct Win {
    pub id: Window,
    pub comm: Comm,
    pub base: u64,
    pub size: u64,
    pub unit: u32,
    /// The window owns its memory.
    pub allocated: bool,
}

/// One element that an operation brings, once it is complete.
#[derive(Clone, Copy)]
pub struct Fetched {
    pub window: Handle,
    pub target: i32,
    pub request: Option<Request>,
    pub owner: Rank,
    pub place: Place,
    pub result: u64,
    pub len: u64,
}

impl Fetched {
    /// The same operation, of another buffer and displacement.
    pub fn at(&self, result: u64, displacement: i64) -> Fetched {
        let place = match self.place {
            Place::Window { window, bytes, .. } => Place::Window { window, units: displacement, bytes },
            place => place,
        };
        Fetched { result, place, ..*self }
    }
}

/// A request that is under way.
pub struct Req {
    pub request: Request,
    pub kind: Kind,
}

pub enum Kind {
    Send { synchronous: bool },
    Receive { comm: Comm },
    Operation,
    Collective(Collective),
}

/// A persistent request: what starting it does.
#[derive(Clone)]
pub struct Persistent {
    pub buffer: Buffer,
    pub comm: Comm,
    pub peer: i32,
    pub tag: i32,
    pub receives: bool,
    pub synchronous: bool,
}

impl State {
    pub fn new(me: Rank, ranks: u32, log: Log, notes: Notes) -> State {
        let mut communicators = Map::default();
        let world = Comm { id: Communicator(0), size: ranks, members: None, collectives: 0 };
        let alone = Comm { id: Communicator(u64::MAX), size: 1, members: Some(vec![me.0]), collectives: 0 };
        communicators.insert(abi().world, world);
        communicators.insert(abi().this_only, alone);
        State {
            me,
            log,
            datatypes: Datatypes::default(),
            communicators,
            windows: Map::default(),
            requests: Map::default(),
            persistent: Map::default(),
            locked: HashSet::new(),
            made: Vec::new(),
            made_communicators: 0,
            made_windows: 0,
            made_requests: 0,
            sites: Map::default(),
            modules: Vec::new(),
            notes,
            again: again::Table::default(),
            first: Default::default(),
            others: Map::default(),
            loaded: Map::default(),
            fetches: Vec::new(),
            not_understood: Map::default(),
        }
    }

    /// Logs what a call means.
    pub fn log(&mut self, pc: u64, event: Event) {
        let strand = super::threads::strand();
        self.before_call(strand);
        let site = self.site(pc);
        if super::steer::active() {
            super::steer::logged(&event);
        }
        if matches!(event, Event::WindowMade { .. }) {
            self.made.push(Logged { strand, site, event: event.clone() });
        }
        let ends = matches!(event, Event::Returned { .. } | Event::Unlock { .. } | Event::Flush { .. });
        self.log.push(&Logged { strand, site, event });
        if ends {
            self.log.take_back();
        }
    }

    /// Logs a load or store of this process's memory at the address.
    pub fn local(&mut self, site: Site, (owner, place): (Rank, Place), address: u64, len: u64, write: bool) {
        let strand = super::threads::strand();
        if let Some((site, event)) = self.of(strand).0.take((site, owner, write), place, address, len) {
            self.log.push(&Logged { strand, site, event });
        }
    }

    /// A statement loads a word of this rank's part of a window, maybe again: a loop that waits for another value has seen
    /// who wrote it. Loops over arrays load another word each time, and say nothing.
    pub fn polled(&mut self, pc: u64, window: Window, address: u64, len: u64) {
        let mut bytes = [0u8; 8];
        // SAFETY: the program is about to load these bytes.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), len.min(8) as usize) };
        let value = u64::from_le_bytes(bytes);
        let key = (super::threads::strand(), self.site(pc));
        let before = self.loaded.insert(key, (address, value));
        if before.is_none_or(|before| before.0 != address || before.1 == value) {
            return;
        }
        let place = match self.windows.values().find(|win| win.id == window) {
            Some(win) => {
                let (distance, unit) = (address.wrapping_sub(win.base) as i64, i64::from(win.unit));
                Place::Window { window, units: distance / unit, bytes: distance % unit }
            }
            None => Place::Window { window, units: address as i64, bytes: 0 },
        };
        self.log(pc, Event::Returned { owner: self.me, place, value });
    }

    /// What a statement touched in a row.
    pub fn tell(&mut self, Untold { pc, lo, hi, write }: Untold) {
        let site = self.site(pc);
        self.local(site, (self.me, Place::Address(lo)), lo, hi - lo, write);
    }

    fn of(&mut self, strand: u32) -> &mut (Gather, u64) {
        if strand == 0 { &mut self.first } else { self.others.entry(strand).or_default() }
    }

    /// A call of the strand is about to be logged: what has to be told first.
    pub fn before_call(&mut self, strand: u32) {
        recent::flush(|untold| self.tell(untold));
        self.flush(strand);
        self.of(strand).1 += 1;
    }

    /// What the strand has gathered.
    fn flush(&mut self, strand: u32) {
        if self.of(strand).0.is_empty() {
            return;
        }
        for (site, event) in self.of(strand).0.flush() {
            if let Event::Local { owner, place: Place::Address(address), len, write: true } = event
                && owner == self.me
            {
                super::shmem::initial::touched(address, u64::from(len));
            }
            self.log.push(&Logged { strand, site, event });
        }
    }

    /// How many calls this strand has logged.
    pub fn calls(&mut self) -> u64 {
        self.of(super::threads::strand()).1
    }

    /// A statement, so that it means the same on every rank: 16 bits from the module's name, 48 of the
    /// address in its file.
    pub fn site(&mut self, pc: u64) -> Site {
        if let Some(site) = self.sites.get(&pc) {
            return *site;
        }
        let (bias, name) = module_of(pc);
        let module = u64::from(super::datatypes::number(name.as_bytes()));
        let site = Site(module << 48 | pc.wrapping_sub(bias) & 0xffff_ffff_ffff);
        self.sites.insert(pc, site);
        if !self.modules.contains(&module) {
            self.modules.push(module);
            self.notes.module(module, bias, &name);
        }
        site
    }

    pub fn comm(&self, handle: Handle) -> Option<Comm> {
        self.communicators.get(&abi().handle(handle)).cloned()
    }

    pub fn win(&self, handle: Handle) -> Option<Win> {
        self.windows.get(&abi().handle(handle)).cloned()
    }

    /// Can the target be flushed?
    pub fn is_locked(&self, window: Handle, target: i32) -> bool {
        let window = abi().handle(window);
        self.locked.contains(&(window, Some(target))) || self.locked.contains(&(window, None))
    }

    pub fn fresh_request(&mut self) -> Request {
        self.made_requests += 1;
        Request(self.made_requests)
    }

    pub fn fresh_communicator(&mut self) -> u64 {
        self.made_communicators += 1;
        u64::from(self.me.0) << 32 | u64::from(self.made_communicators)
    }

    pub fn fresh_window(&mut self) -> u64 {
        self.made_windows += 1;
        u64::from(self.me.0) << 12 | u64::from(self.made_windows)
    }

    /// Operations came back that `over` names: what they brought says whose update they saw.
    pub fn fetched(&mut self, pc: u64, over: impl Fn(&Fetched) -> bool) {
        let (done, open): (Vec<Fetched>, Vec<Fetched>) = std::mem::take(&mut self.fetches).into_iter().partition(over);
        self.fetches = open;
        for fetched in done {
            let mut bytes = [0u8; 8];
            // SAFETY: the operation has filled these bytes of the program's.
            unsafe {
                std::ptr::copy_nonoverlapping(fetched.result as *const u8, bytes.as_mut_ptr(), fetched.len as usize);
            }
            let Fetched { owner, place, .. } = fetched;
            self.log(pc, Event::Returned { owner, place, value: u64::from_le_bytes(bytes) });
        }
    }

    /// A buffer of the program; `None` if it touches nothing.
    pub fn buffer(&mut self, address: *const u8, count: i64, datatype: Handle) -> Option<Buffer> {
        if count <= 0 || address as usize == abi().in_place {
            return None;
        }
        let pieces = self.datatypes.pieces(datatype, count);
        (!pieces.is_empty()).then_some(Buffer { address: address as u64, pieces })
    }

    /// What was logged since the last boundary; the log begins anew, with the windows there are.
    pub fn phase(&mut self) -> Vec<u8> {
        recent::flush(|untold| self.tell(untold));
        self.flush(super::threads::strand());
        self.log.phase(&self.made)
    }

    /// What was judged while the program ran.
    pub fn counted(&mut self, counts: &Counts, given_up: u64) {
        self.notes.judged(counts, given_up);
    }

    /// The next collective on a communicator.
    pub fn collective(&mut self, handle: Handle) -> Option<(Comm, Collective)> {
        let comm = self.communicators.get_mut(&abi().handle(handle))?;
        comm.collectives += 1;
        let collective = Collective { communicator: comm.id, number: comm.collectives };
        Some((comm.clone(), collective))
    }

    /// Nothing more is logged. `whole`: the rank came to its end.
    pub fn finished(&mut self, whole: bool) {
        recent::flush(|untold| self.tell(untold));
        let strands: Vec<u32> = self.others.keys().copied().collect();
        std::iter::once(0).chain(strands).for_each(|strand| self.flush(strand));
        if whole {
            self.notes.finished(self.log.dropped);
        }
    }

    /// A call that is not understood: counted, never silently left out.
    pub fn unknown(&mut self, name: &'static str) {
        let count = self.not_understood.entry(name).or_default();
        *count += 1;
        if *count == 1 {
            self.notes.not_understood(name);
        }
    }
}

/// The module that holds the address: where it was loaded, less where its file says, and its file.
fn module_of(pc: u64) -> (u64, String) {
    unsafe extern "C" {
        fn dladdr1(address: *const u8, info: *mut libc::Dl_info, extra: *mut *const u64, flags: i32) -> i32;
    }
    const LINK_MAP: i32 = 2;
    // SAFETY: the function only reads; the structure is plain words, and the first of a link map is what was added to
    // the addresses of the file.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let mut map: *const u64 = std::ptr::null();
        if dladdr1(pc as *const u8, &mut info, &mut map, LINK_MAP) == 0 || info.dli_fname.is_null() || map.is_null() {
            return (0, String::new());
        }
        let name = std::ffi::CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned();
        let whole = std::fs::canonicalize(&name).map(|path| path.to_string_lossy().into_owned());
        (*map, whole.unwrap_or(name))
    }
}

/// The ranks of a group in the world.
pub fn world_ranks(group: Handle) -> Vec<u32> {
    let mut size = 0i32;
    pmpi!(PMPI_Group_size(group => Handle, &mut size => *mut i32));
    let mut world: Handle = 0;
    pmpi!(PMPI_Comm_group(abi().world => Handle, &mut world => *mut Handle));
    let numbers: Vec<i32> = (0..size).collect();
    let mut ranks = vec![0i32; size as usize];
    pmpi!(PMPI_Group_translate_ranks(
        group => Handle, size => i32, numbers.as_ptr() => *const i32, world => Handle, ranks.as_mut_ptr() => *mut i32,
    ));
    pmpi!(PMPI_Group_free(&mut world => *mut Handle));
    ranks.into_iter().map(|rank| rank as u32).collect()
}

/// The members of a communicator, by their ranks in the world.
pub fn members_of(comm: Handle) -> Vec<u32> {
    let mut group: Handle = 0;
    pmpi!(PMPI_Comm_group(comm => Handle, &mut group => *mut Handle));
    let ranks = world_ranks(group);
    pmpi!(PMPI_Group_free(&mut group => *mut Handle));
    ranks
}

/// A number that the communicator's first member chose, on every member.
pub fn agree(comm: Handle, number: u64) -> u64 {
    let mut number = number;
    pmpi!(PMPI_Bcast((&raw mut number).cast() => *mut u8, 8 => i32, abi().byte => Handle, 0 => i32, comm => Handle));
    number
}
