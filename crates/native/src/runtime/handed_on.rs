//! What the launcher says to everything that is started stands in the environment. A program that starts another one with
//! an emptied environment (`env -i java …`) hands on all the same what it was given itself.

use libc::{c_char, c_int};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// Beginnings of our variables.
const OWN: [&[u8]; 2] = [b"REWEAVE_", b"LD_PRELOAD="];
/// Without these nobody could be reached.
const NEEDED: &[u8] = b"REWEAVE_SOCKET=";

static GIVEN: OnceLock<Vec<CString>> = OnceLock::new();

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The variables of an environment.
///
/// # Safety
/// A list of strings that ends with a null, or null.
unsafe fn variables(mut list: *const *const c_char) -> Vec<*const c_char> {
    let mut found = Vec::new();
    // SAFETY: by the contract.
    unsafe {
        while !list.is_null() && !(*list).is_null() {
            found.push(*list);
            list = list.add(1);
        }
    }
    found
}

fn begins(variable: *const c_char, with: &[u8]) -> bool {
    // SAFETY: a string of an environment.
    unsafe { CStr::from_ptr(variable) }.to_bytes().starts_with(with)
}

/// The library was loaded: from here on the program may change its environment.
pub fn remember() {
    // SAFETY: libc's own list.
    let all = unsafe { variables(environ) };
    if !all.iter().any(|own| begins(*own, NEEDED)) {
        return;
    }
    let own = all.into_iter().filter(|own| OWN.iter().any(|with| begins(*own, with)));
    // SAFETY: strings of the environment.
    let _ = GIVEN.set(own.map(|own| unsafe { CStr::from_ptr(own) }.to_owned()).collect());
}

/// Starts a program with this environment, completed where it was emptied.
///
/// # Safety
/// As [`variables`].
pub unsafe fn with(environment: *const *const c_char, start: impl FnOnce(*const *const c_char) -> c_int) -> c_int {
    let given = GIVEN.get().map_or(&[][..], Vec::as_slice);
    // SAFETY: by the contract.
    let mut all = unsafe { variables(environment) };
    let has_own = all.iter().any(|own| OWN.iter().any(|with| begins(*own, with)));
    if given.is_empty() || has_own {
        return start(environment);
    }
    all.extend(given.iter().map(|own| own.as_ptr()));
    all.push(std::ptr::null());
    start(all.as_ptr())
}

/// The same with the environment that the program has.
pub fn with_own(start: impl FnOnce(*const *const c_char) -> c_int) -> c_int {
    // SAFETY: libc's own list.
    unsafe { with(environ, start) }
}
