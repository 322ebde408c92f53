//! The tool interface of the machine, as much of it as the agent calls: functions by their number (jvmti.h).

use super::jni::{Class, FieldId, MethodId, Object};
use crate::classfile::access;
use std::ffi::{CStr, c_char, c_void};

/// The agent's environment.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Jvmti(*mut *const *const c_void);

// SAFETY: the machine allows calls from every thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

pub const VERSION: i32 = 0x3009_0000;

/// Numbers of events.
pub mod event {
    pub const VM_INIT: i32 = 50;
    pub const VM_DEATH: i32 = 51;
    pub const THREAD_START: i32 = 52;
    pub const THREAD_END: i32 = 53;
    pub const CLASS_FILE_LOAD_HOOK: i32 = 54;
    pub const CLASS_PREPARE: i32 = 56;
    pub const VM_START: i32 = 57;
    pub const MONITOR_CONTENDED_ENTER: i32 = 75;
    pub const MONITOR_CONTENDED_ENTERED: i32 = 76;
    /// Since JDK 21, in place of the others for virtual threads.
    pub const VIRTUAL_THREAD_START: i32 = 87;
    pub const VIRTUAL_THREAD_END: i32 = 88;
}

/// Bits of capabilities.
pub mod capability {
    pub const TAG_OBJECTS: usize = 0;
    pub const MONITOR_INFO: usize = 7;
    pub const ALL_CLASS_HOOKS: usize = 26;
    pub const MONITOR_EVENTS: usize = 28;
    pub const RETRANSFORM: usize = 37;
    /// Since JDK 21.
    pub const VIRTUAL_THREADS: usize = 44;
}

#[repr(C)]
#[derive(Default)]
pub struct Capabilities([u32; 4]);

impl Capabilities {
    pub fn with(bits: &[usize]) -> Self {
        let mut own = Self::default();
        for bit in bits {
            own.0[bit / 32] |= 1 << (bit % 32);
        }
        own
    }
}

/// Callbacks by number of event, from [`event::VM_INIT`] on.
#[repr(C)]
pub struct Callbacks([*const c_void; 39]);

impl Callbacks {
    pub const fn none() -> Self {
        Self([std::ptr::null(); 39])
    }

    pub fn set(&mut self, event: i32, function: *const c_void) {
        self.0[(event - event::VM_INIT) as usize] = function;
    }
}

#[repr(C)]
pub struct ThreadInfo {
    pub name: *mut c_char,
    pub priority: i32,
    pub is_daemon: u8,
    pub group: Object,
    pub loader: Object,
}

/// Who is in a monitor, and who waits for it.
#[repr(C)]
pub struct MonitorUsage {
    pub owner: Object,
    pub entries: i32,
    pub waiter_count: i32,
    pub waiters: *mut Object,
    pub notify_waiter_count: i32,
    pub notify_waiters: *mut Object,
}

impl Default for MonitorUsage {
    fn default() -> Self {
        let (nobody, none) = (std::ptr::null_mut(), std::ptr::null_mut());
        Self { owner: nobody, entries: 0, waiter_count: 0, waiters: none, notify_waiter_count: 0, notify_waiters: none }
    }
}

/// A method that a thread is in.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FrameInfo {
    pub method: MethodId,
    pub location: i64,
}

/// What a method is.
pub struct MethodInfo {
    /// Signature of its class.
    pub class: Vec<u8>,
    pub name: Vec<u8>,
    pub descriptor: Vec<u8>,
    pub modifiers: u16,
}

macro_rules! functions {
    ($($number:literal $name:ident($($argument:ident: $type:ty),*);)*) => {
        impl Jvmti {$(
            /// The error, 0 for none.
            ///
            /// # Safety
            /// As the function of that name in the specification asks for.
            pub unsafe fn $name(self $(, $argument: $type)*) -> i32 {
                type Function = unsafe extern "system" fn(Jvmti $(, $type)*) -> i32;
                // SAFETY: the machine's own table, which counts from 1; the type is that of jvmti.h.
                unsafe {
                    let function = *(*self.0).add($number - 1);
                    std::mem::transmute::<*const c_void, Function>(function)(self $(, $argument)*)
                }
            }
        )*}
    };
}

functions! {
    2 set_event_notification_mode(mode: i32, event: i32, thread: Object);
    9 get_thread_info(thread: Object, info: *mut ThreadInfo);
    18 get_current_thread(thread: *mut Object);
    45 is_modifiable_class(class: Class, answer: *mut u8);
    46 allocate(size: i64, memory: *mut *mut u8);
    47 deallocate(memory: *mut u8);
    48 get_class_signature(class: Class, signature: *mut *mut c_char, generic: *mut *mut c_char);
    49 get_class_status(class: Class, status: *mut i32);
    53 get_class_fields(class: Class, count: *mut i32, fields: *mut *mut FieldId);
    57 get_class_loader(class: Class, loader: *mut Object);
    58 get_object_hash_code(object: Object, hash: *mut i32);
    59 get_object_monitor_usage(object: Object, usage: *mut MonitorUsage);
    60 get_field_name(class: Class, field: FieldId, name: *mut *mut c_char, signature: *mut *mut c_char, generic: *mut *mut c_char);
    61 get_field_declaring_class(class: Class, field: FieldId, declaring: *mut Class);
    62 get_field_modifiers(class: Class, field: FieldId, modifiers: *mut i32);
    64 get_method_name(method: MethodId, name: *mut *mut c_char, signature: *mut *mut c_char, generic: *mut *mut c_char);
    65 get_method_declaring_class(method: MethodId, declaring: *mut Class);
    66 get_method_modifiers(method: MethodId, modifiers: *mut i32);
    78 get_loaded_classes(count: *mut i32, classes: *mut *mut Class);
    88 get_version_number(version: *mut i32);
    104 get_stack_trace(thread: Object, start: i32, most: i32, frames: *mut FrameInfo, count: *mut i32);
    106 get_tag(object: Object, tag: *mut i64);
    107 set_tag(object: Object, tag: i64);
    122 set_event_callbacks(callbacks: *const Callbacks, size: i32);
    142 add_capabilities(capabilities: *const Capabilities);
    152 retransform_classes(count: i32, classes: *const Class);
}

impl Jvmti {
    /// The signature of a class: `Ljava/lang/String;`, `[I`.
    pub fn signature(self, class: Class) -> Option<Vec<u8>> {
        let mut text = std::ptr::null_mut();
        // SAFETY: a class; the text is the machine's memory, which is given back.
        unsafe {
            if self.get_class_signature(class, &raw mut text, std::ptr::null_mut()) != 0 {
                return None;
            }
            let signature = CStr::from_ptr(text).to_bytes().to_vec();
            self.deallocate(text.cast());
            Some(signature)
        }
    }

    pub fn about_method(self, method: MethodId) -> Option<MethodInfo> {
        let (mut name, mut descriptor) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut class, mut modifiers) = (std::ptr::null_mut(), 0);
        // SAFETY: a method; the texts are the machine's memory, which is given back.
        unsafe {
            if self.get_method_declaring_class(method, &raw mut class) != 0
                || self.get_method_modifiers(method, &raw mut modifiers) != 0
                || self.get_method_name(method, &raw mut name, &raw mut descriptor, std::ptr::null_mut()) != 0
            {
                return None;
            }
            let texts = [name, descriptor].map(|text| {
                let copy = CStr::from_ptr(text).to_bytes().to_vec();
                self.deallocate(text.cast());
                copy
            });
            let [name, descriptor] = texts;
            Some(MethodInfo { class: self.signature(class)?, name, descriptor, modifiers: modifiers as u16 })
        }
    }

    /// The fields of references that objects of a class have by it, with their names.
    pub fn references(self, class: Class) -> Vec<(FieldId, String)> {
        let (mut count, mut fields) = (0, std::ptr::null_mut());
        let mut found = Vec::new();
        // SAFETY: a class; the list and the texts are the machine's memory, which is given back.
        unsafe {
            if self.get_class_fields(class, &raw mut count, &raw mut fields) != 0 {
                return found;
            }
            for field in std::slice::from_raw_parts(fields, count as usize) {
                let (mut name, mut signature, mut modifiers) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
                self.get_field_modifiers(class, *field, &raw mut modifiers);
                let error = self.get_field_name(class, *field, &raw mut name, &raw mut signature, std::ptr::null_mut());
                if error != 0 {
                    continue;
                }
                let is_reference = matches!(CStr::from_ptr(signature).to_bytes().first(), Some(b'L' | b'['));
                if is_reference && modifiers as u16 & access::STATIC == 0 {
                    found.push((*field, CStr::from_ptr(name).to_string_lossy().into_owned()));
                }
                self.deallocate(name.cast());
                self.deallocate(signature.cast());
            }
            self.deallocate(fields.cast());
        }
        found
    }

    /// All classes that are loaded.
    pub fn loaded_classes(self) -> Vec<Class> {
        let (mut count, mut classes) = (0, std::ptr::null_mut());
        // SAFETY: the list is the machine's memory, which is given back.
        unsafe {
            if self.get_loaded_classes(&raw mut count, &raw mut classes) != 0 {
                return Vec::new();
            }
            let all = std::slice::from_raw_parts(classes, count as usize).to_vec();
            self.deallocate(classes.cast());
            all
        }
    }

    /// Memory that the machine gives back itself, with these bytes.
    pub fn copy(self, bytes: &[u8]) -> *mut u8 {
        let mut memory = std::ptr::null_mut();
        // SAFETY: as large as the bytes, if there is any.
        unsafe {
            if self.allocate(bytes.len() as i64, &raw mut memory) != 0 {
                return std::ptr::null_mut();
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        }
        memory
    }

    /// The version of the JDK, which that of its tool interface follows.
    pub fn version(self) -> i32 {
        let mut version = 0;
        // SAFETY: a number to fill in.
        unsafe { self.get_version_number(&raw mut version) };
        version >> 16 & 0xfff
    }

    pub fn enable(self, event: i32) -> bool {
        // SAFETY: a number of an event, for all threads.
        unsafe { self.set_event_notification_mode(1, event, std::ptr::null_mut()) == 0 }
    }

    pub fn hash(self, object: Object) -> i32 {
        let mut hash = 0;
        // SAFETY: a valid reference.
        unsafe { self.get_object_hash_code(object, &raw mut hash) };
        hash
    }

    pub fn tag(self, object: Object) -> i64 {
        let mut tag = 0;
        // SAFETY: a valid reference.
        unsafe { self.get_tag(object, &raw mut tag) };
        tag
    }
}

/// The machine: gives environments.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Machine(*mut *const *const c_void);

impl Machine {
    /// The tool environment, or `None` if this machine has none of our version.
    pub fn jvmti(self) -> Option<Jvmti> {
        type GetEnv = unsafe extern "system" fn(Machine, *mut *mut c_void, i32) -> i32;
        let mut out = std::ptr::null_mut();
        // SAFETY: GetEnv is the seventh function of the invocation interface.
        let status = unsafe {
            let function = *(*self.0).add(6);
            std::mem::transmute::<*const c_void, GetEnv>(function)(self, &raw mut out, VERSION)
        };
        (status == 0 && !out.is_null()).then(|| Jvmti(out.cast()))
    }
}
