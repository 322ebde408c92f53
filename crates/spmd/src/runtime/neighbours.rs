//! Collectives among neighbours of a topology, and those whose types or counts differ from member to member (R14).

use super::abi::{Handle, abi};
use super::collectives::{Touched, Uneven, uneven};
use super::datatypes::extent;
use super::objects::Comm;
use crate::event::Flow;
use crate::ids::Rank;

/// Neighbours, by their numbers in the communicator; nobody is a negative number.
#[derive(Default)]
struct Neighbours {
    from: Vec<i32>,
    to: Vec<i32>,
}

fn neighbours(comm: Handle) -> Neighbours {
    let mut kind = 0i32;
    pmpi!(PMPI_Topo_test(comm => Handle, &mut kind => *mut i32));
    let (cartesian, graph) = if abi().open_mpi { (1, 2) } else { (2, 1) };
    const ADJACENT: i32 = 3;
    let mut found = Neighbours::default();
    if kind == cartesian {
        let mut dimensions = 0i32;
        pmpi!(PMPI_Cartdim_get(comm => Handle, &mut dimensions => *mut i32));
        for dimension in 0..dimensions {
            let (mut before, mut after) = (0i32, 0i32);
            pmpi!(PMPI_Cart_shift(
                comm => Handle, dimension => i32, 1 => i32, &mut before => *mut i32, &mut after => *mut i32,
            ));
            found.from.extend([before, after]);
        }
        found.to = found.from.clone();
    } else if kind == graph {
        let (mut me, mut count) = (0i32, 0i32);
        pmpi!(PMPI_Comm_rank(comm => Handle, &mut me => *mut i32));
        pmpi!(PMPI_Graph_neighbors_count(comm => Handle, me => i32, &mut count => *mut i32));
        found.from = vec![0; count.max(0) as usize];
        pmpi!(PMPI_Graph_neighbors(comm => Handle, me => i32, count => i32, found.from.as_mut_ptr() => *mut i32));
        found.to = found.from.clone();
    } else if kind == ADJACENT {
        let (mut inner, mut outer, mut weighted) = (0i32, 0i32, 0i32);
        pmpi!(PMPI_Dist_graph_neighbors_count(
            comm => Handle, &mut inner => *mut i32, &mut outer => *mut i32, &mut weighted => *mut i32,
        ));
        (found.from, found.to) = (vec![0; inner.max(0) as usize], vec![0; outer.max(0) as usize]);
        let mut weights = vec![0i32; (inner.max(outer).max(0) + 1) as usize];
        let weights = weights.as_mut_ptr();
        pmpi!(PMPI_Dist_graph_neighbors(
            comm => Handle, inner => i32, found.from.as_mut_ptr() => *mut i32, weights => *mut i32,
            outer => i32, found.to.as_mut_ptr() => *mut i32, weights => *mut i32,
        ));
    }
    found
}

fn ranks(comm: &Comm, numbers: &[i32]) -> Vec<Rank> {
    numbers.iter().filter(|number| **number >= 0).map(|number| comm.rank(*number)).collect()
}

/// Everybody among neighbours says something to each of them.
fn among(comm: &Comm, neighbours: &Neighbours, buffers: Vec<Touched>) -> Uneven {
    let flow = Flow::Pairs { to: ranks(comm, &neighbours.to), from: ranks(comm, &neighbours.from) };
    Uneven { flow, contributes: true, buffers }
}

/// The parts of a buffer for neighbours or members: counts and distances.
///
/// # Safety
/// The arrays have that many entries.
unsafe fn parts(
    (base, counts, places): (*const u8, *const i32, *const i32),
    many: usize,
    datatype: Handle,
    write: bool,
) -> Vec<Touched> {
    let step = extent(datatype);
    (0..many)
        // SAFETY: as the caller says.
        .map(|number| unsafe { (i64::from(counts.add(number).read()), i64::from(places.add(number).read())) })
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| (base.wrapping_offset((place * step) as isize), count, datatype, write))
        .collect()
}

macro_rules! among_neighbours {
    ($(($name:ident, $nonblocking:ident)($($arg:ident: $type:ty),*) |$found:ident| $buffers:expr;)*) => {$(
        interpose! { "P"
            fn $name($($arg: $type,)* comm: Handle) -> i32 { |call| {
                let $found = neighbours(comm);
                let buffers: Vec<Touched> = $buffers;
                let real = call.real;
                uneven(&call, comm, |comm, _| among(comm, &$found, buffers), None, move |_| (real)($($arg,)* comm))
            } }
            fn $nonblocking($($arg: $type,)* comm: Handle, request: *mut u8) -> i32 { |call| {
                let $found = neighbours(comm);
                let buffers: Vec<Touched> = $buffers;
                let real = call.real;
                uneven(&call, comm, |comm, _| among(comm, &$found, buffers), Some(request), move |request| (real)($($arg,)* comm, request))
            } }
        }
    )*};
}

among_neighbours! {
    (MPI_Neighbor_allgather, MPI_Ineighbor_allgather)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle)
        |found| vec![(s, i64::from(sn), st, false), (r, i64::from(rn) * found.from.len() as i64, rt, true)];
    (MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle)
        |found| vec![(s, i64::from(sn) * found.to.len() as i64, st, false), (r, i64::from(rn) * found.from.len() as i64, rt, true)];
    (MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv)(s: *const u8, sn: i32, st: Handle, r: *mut u8, counts: *const i32, places: *const i32, rt: Handle)
        |found| {
            let mut all = parts((r, counts, places), found.from.len(), rt, true);
            all.push((s, i64::from(sn), st, false));
            all
        };
    (MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv)(s: *const u8, sc: *const i32, sp: *const i32, st: Handle, r: *mut u8, rc: *const i32, rp: *const i32, rt: Handle)
        |found| {
            let mut all = parts((r, rc, rp), found.from.len(), rt, true);
            all.extend(parts((s, sc, sp), found.to.len(), st, false));
            all
        };
}

/// One side of `MPI_Alltoallw`: buffer, counts, distances in bytes, types.
#[derive(Clone, Copy)]
struct Each(*const u8, *const i32, *const i32, *const u8);

impl Each {
    /// # Safety
    /// The arrays have an entry for each member.
    unsafe fn look(self, comm: &Comm, write: bool) -> (Vec<Rank>, Vec<Touched>) {
        let (mut busy, mut buffers) = (Vec::new(), Vec::new());
        for number in 0..comm.size as usize {
            // SAFETY: as the caller says.
            let (count, place) = unsafe { (self.1.add(number).read(), self.2.add(number).read()) };
            if count > 0 {
                // SAFETY: as before.
                let datatype = unsafe { abi().nth(self.3, number) };
                busy.push(comm.rank(number as i32));
                buffers.push((self.0.wrapping_offset(place as isize), i64::from(count), datatype, write));
            }
        }
        (busy, buffers)
    }
}

/// # Safety
/// The arguments of `MPI_Alltoallw`.
unsafe fn alltoallw(comm: &Comm, sent: Each, got: Each) -> Uneven {
    // SAFETY: as the caller says.
    let (from, mut buffers) = unsafe { got.look(comm, true) };
    let mut to = from.clone();
    if sent.0 as usize != abi().in_place {
        // SAFETY: as the caller says.
        let (busy, read) = unsafe { sent.look(comm, false) };
        to = busy;
        buffers.extend(read);
    }
    Uneven { flow: Flow::Pairs { to, from }, contributes: true, buffers }
}

/// # Safety
/// The arguments of `MPI_Reduce_scatter`.
unsafe fn reduce_scatter(comm: &Comm, me: Rank, s: *const u8, r: *const u8, counts: *const i32, t: Handle) -> Uneven {
    // SAFETY: as the caller says.
    let count = |number: usize| i64::from(unsafe { counts.add(number).read() });
    let all = (0..comm.size as usize).map(count).sum();
    let own = comm.everybody().iter().position(|rank| *rank == me).map_or(0, count);
    let flow = Flow::All { contributors: comm.size };
    Uneven { flow, contributes: true, buffers: vec![(s, all, t, false), (r, own, t, true)] }
}

interpose! { "P"
    fn MPI_Alltoallw(s: *const u8, sc: *const i32, sp: *const i32, st: *const u8, r: *mut u8, rc: *const i32, rp: *const i32, rt: *const u8, comm: Handle) -> i32 { |call| {
        let real = call.real;
        uneven(&call, comm, |comm, _| alltoallw(comm, Each(s, sc, sp, st), Each(r, rc, rp, rt)), None,
            move |_| (real)(s, sc, sp, st, r, rc, rp, rt, comm))
    } }
    fn MPI_Ialltoallw(s: *const u8, sc: *const i32, sp: *const i32, st: *const u8, r: *mut u8, rc: *const i32, rp: *const i32, rt: *const u8, comm: Handle, request: *mut u8) -> i32 { |call| {
        let real = call.real;
        uneven(&call, comm, |comm, _| alltoallw(comm, Each(s, sc, sp, st), Each(r, rc, rp, rt)), Some(request),
            move |request| (real)(s, sc, sp, st, r, rc, rp, rt, comm, request))
    } }
    fn MPI_Reduce_scatter(s: *const u8, r: *mut u8, counts: *const i32, t: Handle, op: Handle, comm: Handle) -> i32 { |call| {
        let real = call.real;
        uneven(&call, comm, |comm, me| reduce_scatter(comm, me, s, r, counts, t), None,
            move |_| (real)(s, r, counts, t, op, comm))
    } }
    fn MPI_Ireduce_scatter(s: *const u8, r: *mut u8, counts: *const i32, t: Handle, op: Handle, comm: Handle, request: *mut u8) -> i32 { |call| {
        let real = call.real;
        uneven(&call, comm, |comm, me| reduce_scatter(comm, me, s, r, counts, t), Some(request),
            move |request| (real)(s, r, counts, t, op, comm, request))
    } }
}
