//! Reading the program's memory on its behalf: what it is about to access may not be there.

/// Reads up to eight bytes of the program's memory. A fault here is repaired by the signal handler, which skips the
/// instruction (see [`fault_fixup`]); the value is then 0 and the program's own access faults next.
#[inline(always)]
pub fn load(addr: u64, size: u32) -> u64 {
    macro_rules! fixable {
        ($instruction:literal) => {{
            let value: u64;
            // SAFETY: the access is listed in the fixup table, so a fault continues behind it.
            unsafe {
                std::arch::asm!(
                    "xor {value:e}, {value:e}",
                    concat!("2: ", $instruction),
                    "3:",
                    ".pushsection reweave_fixups, \"aR\", @progbits",
                    ".balign 4",
                    ".long 2b - .",
                    ".long 3b - .",
                    ".popsection",
                    value = out(reg) value, addr = in(reg) addr,
                    options(nostack, readonly)
                );
            }
            value
        }};
    }
    match size {
        8 => fixable!("mov {value}, qword ptr [{addr}]"),
        4 => fixable!("mov {value:e}, dword ptr [{addr}]"),
        1 => fixable!("movzx {value:e}, byte ptr [{addr}]"),
        2 => fixable!("movzx {value:e}, word ptr [{addr}]"),
        _ => (0..u64::from(size)).fold(0, |value, i| value | load_byte(addr + i) << (8 * i)),
    }
}

#[inline(never)]
fn load_byte(addr: u64) -> u64 {
    load(addr, 1)
}

unsafe extern "C" {
    static __start_reweave_fixups: [i32; 2];
    static __stop_reweave_fixups: [i32; 2];
}

/// If a fault at `pc` is one of ours, where to go on.
pub fn fault_fixup(pc: usize) -> Option<usize> {
    // The linker defines both symbols around the section of pairs written by `load`.
    let (mut entry, stop) = (&raw const __start_reweave_fixups, &raw const __stop_reweave_fixups);
    while entry < stop {
        let at = entry as usize;
        // SAFETY: inside the section; both offsets are relative to their own address.
        let [fault, resume] = unsafe { *entry };
        if at.wrapping_add_signed(fault as isize) == pc {
            return Some((at + 4).wrapping_add_signed(resume as isize));
        }
        // SAFETY: steps over one pair.
        entry = unsafe { entry.add(1) };
    }
    None
}
