//! Threads that run free: for programs that one thread at a time would make too slow.
//!
//! Only synchronization is serialized. A thread takes the token for each operation on an object, for each call that the
//! front end replaces and for each atomic access, and gives it back when the program goes on: from then on it runs
//! [outside](crate::Status::Outside), in parallel with others, and its front end keeps what it accesses in a buffer of its
//! own. With the next token those accesses are recorded first ([`World::catch_up`]), and then the operation.
//!
//! So the trace is a linearisation: operations stand in the order in which they took place, since the token is what
//! numbers them, and the accesses of a thread between two of its operations stand together before the second one. All
//! that happens-before, locksets, lock histories and goodlock use, the order within threads and that of synchronization,
//! is exact. Accesses that race may stand in another order than they had: a read is then explained by whatever write of
//! its value stands before it, or by none (an *extern* write, with which nothing is more than potential).
//!
//! Waiting, hangs, interruptions and forks are what they are otherwise. Nothing is decided between two operations of a
//! thread, so a free run has no schedule: the linearisation is one, and how far a replay can follow it, the replay says.

use crate::token::Token;
use crate::world::World;

impl<W: World> Token<'_, W> {
    /// The program goes on. Where threads run free it does without the token, which must be taken again before anything
    /// else is done with this; otherwise nothing happens.
    #[inline(always)]
    pub fn run_free(&mut self) {
        if self.conductor().is_free() && self.conductor().holder() == self.id() {
            self.step_out();
        }
    }
}
