//! What differs between Open MPI and MPICH: handles, constants, the layout of a status.
//!
//! Handles are words here. MPICH's have 32 bits; the upper half of a register that holds one is
//! anything, so [`Abi::handle`] cuts it off before a handle is compared or kept.

use std::sync::OnceLock;

use crate::event::Operator;

pub type Handle = usize;

/// Bytes that are enough for a status of either library.
pub const STATUS: usize = 24;

pub struct Abi {
    pub open_mpi: bool,
    pub world: Handle,
    pub this_only: Handle,
    pub no_comm: Handle,
    pub no_request: Handle,
    pub no_info: Handle,
    pub no_datatype: Handle,
    pub byte: Handle,
    pub proc_null: i32,
    pub any_source: i32,
    pub in_place: usize,
    pub lock_exclusive: i32,
    pub no_precede: i32,
    pub order_c: i32,
    /// Bytes of a status.
    pub status: usize,
    operators: Vec<(Handle, Operator)>,
}

pub const ANY_TAG: i32 = -1;

/// The library that this process uses.
pub fn abi() -> &'static Abi {
    static ABI: OnceLock<Abi> = OnceLock::new();
    ABI.get_or_init(|| if symbol("ompi_mpi_comm_world") != 0 { open_mpi() } else { mpich() })
}

fn symbol(name: &str) -> Handle {
    let Ok(name) = std::ffi::CString::new(name) else { return 0 };
    super::modules::variable(&name) as usize
}

const OPERATORS: [(&str, u32, Operator); 12] = [
    ("max", 1, Operator::Maximum),
    ("min", 2, Operator::Minimum),
    ("sum", 3, Operator::Sum),
    ("prod", 4, Operator::Product),
    ("land", 5, Operator::LogicalAnd),
    ("band", 6, Operator::BitAnd),
    ("lor", 7, Operator::LogicalOr),
    ("bor", 8, Operator::BitOr),
    ("lxor", 9, Operator::LogicalXor),
    ("bxor", 10, Operator::BitXor),
    ("replace", 13, Operator::Replace),
    ("no_op", 14, Operator::NoOp),
];

fn open_mpi() -> Abi {
    Abi {
        open_mpi: true,
        world: symbol("ompi_mpi_comm_world"),
        this_only: symbol("ompi_mpi_comm_self"),
        no_comm: symbol("ompi_mpi_comm_null"),
        no_request: symbol("ompi_request_null"),
        no_info: symbol("ompi_mpi_info_null"),
        no_datatype: symbol("ompi_mpi_datatype_null"),
        byte: symbol("ompi_mpi_byte"),
        proc_null: -2,
        any_source: -1,
        in_place: 1,
        lock_exclusive: 1,
        no_precede: 2,
        order_c: 0,
        status: 24,
        operators: OPERATORS.iter().map(|(name, _, op)| (symbol(&format!("ompi_mpi_op_{name}")), *op)).collect(),
    }
}

fn mpich() -> Abi {
    Abi {
        open_mpi: false,
        world: 0x4400_0000,
        this_only: 0x4400_0001,
        no_comm: 0x0400_0000,
        no_request: 0x2c00_0000,
        no_info: 0x1c00_0000,
        no_datatype: 0x0c00_0000,
        byte: 0x4c00_010d,
        proc_null: -1,
        any_source: -2,
        in_place: usize::MAX,
        lock_exclusive: 234,
        no_precede: 8192,
        order_c: 56,
        status: 20,
        operators: OPERATORS.iter().map(|(_, number, op)| (0x5800_0000 + *number as usize, *op)).collect(),
    }
}

impl Abi {
    /// The handle alone.
    pub fn handle(&self, word: Handle) -> Handle {
        if self.open_mpi { word } else { word as u32 as usize }
    }

    /// The n-th handle of an array.
    ///
    /// # Safety
    /// The array has that many.
    pub unsafe fn nth(&self, array: *const u8, number: usize) -> Handle {
        // SAFETY: as the caller says.
        unsafe {
            if self.open_mpi {
                array.cast::<usize>().add(number).read()
            } else {
                array.cast::<u32>().add(number).read() as usize
            }
        }
    }

    /// Writes a handle.
    ///
    /// # Safety
    /// There is room for one.
    pub unsafe fn set(&self, to: *mut u8, handle: Handle) {
        // SAFETY: as the caller says.
        unsafe {
            if self.open_mpi {
                to.cast::<usize>().write(handle);
            } else {
                to.cast::<u32>().write(handle as u32);
            }
        }
    }

    pub fn operator(&self, op: Handle) -> Operator {
        let op = self.handle(op);
        self.operators.iter().find(|(handle, _)| *handle == op).map_or(Operator::Other, |(_, operator)| *operator)
    }

    /// The handle of an operation.
    pub fn operation(&self, wanted: Operator) -> Handle {
        self.operators.iter().find(|(_, operator)| *operator == wanted).map_or(0, |(handle, _)| *handle)
    }

    /// Does the program not want the status? An array of them is not wanted by the same value.
    pub fn ignored(&self, status: *const u8) -> bool {
        status as usize == if self.open_mpi { 0 } else { 1 }
    }

    /// Source and tag.
    ///
    /// # Safety
    /// A status that the library filled.
    pub unsafe fn source_and_tag(&self, status: *const u8) -> (i32, i32) {
        let first = if self.open_mpi { 0 } else { 8 };
        // SAFETY: both lie inside a status.
        unsafe {
            (status.add(first).cast::<i32>().read_unaligned(), status.add(first + 4).cast::<i32>().read_unaligned())
        }
    }
}
