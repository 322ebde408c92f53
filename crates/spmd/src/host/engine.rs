//! MPI as what clusters already have for programs that work together: `mpirun -n 8 reweave predict TRACE`.
//!
//! The library is loaded if its launcher started this process, and never needed otherwise. Numbers travel with two
//! collectives; nothing of it is looked at by the runtime for ranks, which is not loaded here.

use std::ffi::{CStr, c_void};

/// What differs between the libraries: the name of the file, and how `MPI_COMM_WORLD` and `MPI_UINT64_T` are written.
struct Library {
    file: &'static CStr,
    /// Set by its launcher: how many ranks there are.
    size: &'static str,
    world: Handle,
    number: Handle,
}

enum Handle {
    /// The address of a variable.
    Variable(&'static CStr),
    Number(usize),
}

const LIBRARIES: [Library; 4] = [
    Library {
        file: c"libmpi.so.40",
        size: "OMPI_COMM_WORLD_SIZE",
        world: Handle::Variable(c"ompi_mpi_comm_world"),
        number: Handle::Variable(c"ompi_mpi_uint64_t"),
    },
    mpich(c"libmpich.so.12"),
    mpich(c"libmpi.so.12"),
    mpich(c"libmpich.so"),
];

const fn mpich(file: &'static CStr) -> Library {
    Library { file, size: "PMI_SIZE", world: Handle::Number(0x4400_0000), number: Handle::Number(0x4c00_083e) }
}

/// Processes that were started together.
#[derive(Debug)]
pub struct Engine {
    library: usize,
    world: usize,
    number: usize,
    me: usize,
    everybody: usize,
}

impl Engine {
    /// The processes that a launcher of MPI started with this one. `Ok(None)`: it is alone. An error is a sentence.
    pub fn start() -> Result<Option<Engine>, String> {
        let several = |library: &&Library| {
            let size = std::env::var(library.size).ok().and_then(|size| size.parse::<u32>().ok());
            size.is_some_and(|size| size > 1)
        };
        let started: Vec<&Library> = LIBRARIES.iter().filter(several).collect();
        if started.is_empty() {
            return Ok(None);
        }
        for library in &started {
            // SAFETY: a name; its initialisers are those of MPI. Open MPI's components look for its symbols.
            let loaded = unsafe { libc::dlopen(library.file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !loaded.is_null() {
                return Engine::of(loaded as usize, library).map(Some);
            }
        }
        let names: Vec<_> = started.iter().map(|library| library.file.to_string_lossy()).collect();
        Err(format!("a launcher of MPI started several of this command, but there is no {}", names.join(" and no ")))
    }

    fn of(loaded: usize, library: &Library) -> Result<Engine, String> {
        let handle = |handle: &Handle| match handle {
            Handle::Number(number) => Some(*number),
            Handle::Variable(name) => symbol(loaded, name),
        };
        let (world, number) = (handle(&library.world), handle(&library.number));
        let (Some(world), Some(number)) = (world, number) else {
            return Err(format!("{} is not the library that was expected", library.file.to_string_lossy()));
        };
        let mut engine = Engine { library: loaded, world, number, me: 0, everybody: 1 };
        let (mut me, mut everybody) = (0i32, 1i32);
        // SAFETY: the functions of the standard, with what it asks for.
        unsafe {
            type Init = unsafe extern "C" fn(*mut i32, *mut c_void) -> i32;
            engine.function::<Init>(c"MPI_Init")(std::ptr::null_mut(), std::ptr::null_mut());
            type Number = unsafe extern "C" fn(usize, *mut i32) -> i32;
            engine.function::<Number>(c"MPI_Comm_rank")(world, &mut me);
            engine.function::<Number>(c"MPI_Comm_size")(world, &mut everybody);
        }
        (engine.me, engine.everybody) = (me as usize, everybody as usize);
        Ok(engine)
    }

    pub fn me(&self) -> usize {
        self.me
    }

    pub fn everybody(&self) -> usize {
        self.everybody
    }

    /// Gives everybody the numbers of everybody, by process.
    pub fn gather(&self, numbers: &[u64]) -> Vec<Vec<u64>> {
        let mine = numbers.len() as u64;
        let mut lens = vec![0u64; self.everybody];
        type Gather = unsafe extern "C" fn(*const u64, i32, usize, *mut u64, i32, usize, usize) -> i32;
        type GatherAll =
            unsafe extern "C" fn(*const u64, i32, usize, *mut u64, *const i32, *const i32, usize, usize) -> i32;
        // SAFETY: the functions of the standard; there is room for what everybody sends.
        unsafe {
            self.function::<Gather>(c"MPI_Allgather")(
                &mine,
                1,
                self.number,
                lens.as_mut_ptr(),
                1,
                self.number,
                self.world,
            );
            let counts: Vec<i32> =
                lens.iter().map(|len| i32::try_from(*len).expect("fewer than 2^31 numbers")).collect();
            let mut places = vec![0i32; self.everybody];
            for at in 1..self.everybody {
                places[at] = places[at - 1].checked_add(counts[at - 1]).expect("fewer than 2^31 numbers");
            }
            let mut all = vec![0u64; lens.iter().sum::<u64>() as usize];
            self.function::<GatherAll>(c"MPI_Allgatherv")(
                numbers.as_ptr(),
                counts[self.me],
                self.number,
                all.as_mut_ptr(),
                counts.as_ptr(),
                places.as_ptr(),
                self.number,
                self.world,
            );
            let part = |(place, count): (&i32, &i32)| all[*place as usize..(place + count) as usize].to_vec();
            places.iter().zip(&counts).map(part).collect()
        }
    }

    /// Nobody has anything more to say.
    pub fn finish(self) {
        // SAFETY: the function of the standard, once.
        unsafe { self.function::<unsafe extern "C" fn() -> i32>(c"MPI_Finalize")() };
    }

    /// # Safety
    /// The function has that type.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let found =
            symbol(self.library, name).unwrap_or_else(|| panic!("the library has no {}", name.to_string_lossy()));
        // SAFETY: as the caller says; a pointer's size was checked.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

fn symbol(library: usize, name: &CStr) -> Option<usize> {
    // SAFETY: a library that is loaded, and a name.
    let found = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found as usize)
}
