//! Where atomic blocks are.
