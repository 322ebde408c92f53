//! Calls that are not understood: counted and named, never left out silently.
//!
//! What they do to memory and to the order of ranks is not in the logs; the report says so.

use super::abi::Handle;
use super::with;

macro_rules! unknown {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        interpose! { "P" $(
            fn $name($($arg: $type),*) -> i32 { |call| {
                with(|state| state.unknown(stringify!($name)));
                (call.real)($($arg),*)
            } }
        )* }
    };
}

unknown! {
    MPI_Comm_spawn(command: usize, argv: usize, count: i32, info: Handle, root: i32, comm: Handle, made: usize, codes: usize);
    MPI_Comm_spawn_multiple(count: i32, commands: usize, argvs: usize, counts: usize, infos: usize, root: i32, comm: Handle, made: usize, codes: usize);
    MPI_Comm_accept(port: usize, info: Handle, root: i32, comm: Handle, made: usize);
    MPI_Comm_connect(port: usize, info: Handle, root: i32, comm: Handle, made: usize);
    MPI_Comm_join(descriptor: i32, made: usize);
    MPI_Intercomm_create(comm: Handle, leader: i32, peers: Handle, remote: i32, tag: i32, made: usize);
    MPI_Neighbor_alltoallw(s: usize, sc: usize, sp: usize, st: usize, r: usize, rc: usize, rp: usize, rt: usize, comm: Handle);
    MPI_Ineighbor_alltoallw(s: usize, sc: usize, sp: usize, st: usize, r: usize, rc: usize, rp: usize, rt: usize, comm: Handle, request: usize);
    MPI_Psend_init(b: usize, parts: i32, n: i64, t: Handle, to: i32, tag: i32, comm: Handle, info: Handle, request: usize);
    MPI_Precv_init(b: usize, parts: i32, n: i64, t: Handle, from: i32, tag: i32, comm: Handle, info: Handle, request: usize);
    MPI_Isendrecv(sb: usize, sn: i32, st: Handle, to: i32, stag: i32, rb: usize, rn: i32, rt: Handle, from: i32, rtag: i32, comm: Handle, request: usize);
    MPI_Put_c(o: usize, oc: i64, ot: Handle, target: i32, d: i64, tc: i64, t: Handle, window: Handle);
    MPI_Get_c(o: usize, oc: i64, ot: Handle, target: i32, d: i64, tc: i64, t: Handle, window: Handle);
    MPI_Accumulate_c(o: usize, oc: i64, ot: Handle, target: i32, d: i64, tc: i64, t: Handle, op: Handle, window: Handle);
    MPI_Win_allocate_c(size: i64, unit: i64, info: Handle, comm: Handle, base: usize, window: usize);
    MPI_Win_create_c(base: usize, size: i64, unit: i64, info: Handle, comm: Handle, window: usize);
    MPI_Win_allocate_shared_c(size: i64, unit: i64, info: Handle, comm: Handle, base: usize, window: usize);
    MPI_Send_c(b: usize, n: i64, t: Handle, to: i32, tag: i32, comm: Handle);
    MPI_Recv_c(b: usize, n: i64, t: Handle, from: i32, tag: i32, comm: Handle, status: usize);
    MPI_Isend_c(b: usize, n: i64, t: Handle, to: i32, tag: i32, comm: Handle, request: usize);
    MPI_Irecv_c(b: usize, n: i64, t: Handle, from: i32, tag: i32, comm: Handle, request: usize);
}
