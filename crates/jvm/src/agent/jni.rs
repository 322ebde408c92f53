//! The Java Native Interface, as much of it as the agent calls: functions by their place in the table (jni.h).

use std::ffi::{CStr, c_char, c_void};

/// A reference to an object of the machine. Null or valid, as the function that gave it says.
pub type Object = *mut c_void;
pub type Class = Object;
pub type FieldId = *mut c_void;
pub type MethodId = *mut c_void;

/// An argument of a call.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    pub boolean: u8,
    pub int: i32,
    pub long: i64,
    pub object: Object,
}

#[repr(C)]
pub struct NativeMethod {
    pub name: *const c_char,
    pub signature: *const c_char,
    pub function: *const c_void,
}

/// The environment of the calling thread.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Env(*mut *const *const c_void);

macro_rules! functions {
    ($($index:literal $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl Env {$(
            /// # Safety
            /// As the function of that name in the specification asks for.
            #[inline]
            pub unsafe fn $name(self $(, $argument: $type)*) $(-> $result)? {
                type Function = unsafe extern "system" fn(Env $(, $type)*) $(-> $result)?;
                // SAFETY: the machine's own table; the type is that of jni.h.
                unsafe {
                    let function = *(*self.0).add($index);
                    std::mem::transmute::<*const c_void, Function>(function)(self $(, $argument)*)
                }
            }
        )*}
    };
}

functions! {
    5 define_class(name: *const c_char, loader: Object, bytes: *const u8, length: i32) -> Class;
    6 find_class(name: *const c_char) -> Class;
    10 get_superclass(class: Class) -> Class;
    12 to_reflected_field(class: Class, field: FieldId, is_static: u8) -> Object;
    13 throw(exception: Object) -> i32;
    14 throw_new(class: Class, message: *const c_char) -> i32;
    15 exception_occurred() -> Object;
    17 exception_clear();
    21 new_global_ref(object: Object) -> Object;
    22 delete_global_ref(object: Object);
    23 delete_local_ref(object: Object);
    24 is_same_object(a: Object, b: Object) -> u8;
    31 get_object_class(object: Object) -> Class;
    33 get_method_id(class: Class, name: *const c_char, signature: *const c_char) -> MethodId;
    36 call_object_method(object: Object, method: MethodId, arguments: *const Value) -> Object;
    39 call_boolean_method(object: Object, method: MethodId, arguments: *const Value) -> u8;
    51 call_int_method(object: Object, method: MethodId, arguments: *const Value) -> i32;
    54 call_long_method(object: Object, method: MethodId, arguments: *const Value) -> i64;
    63 call_void_method(object: Object, method: MethodId, arguments: *const Value);
    69 call_nonvirtual_boolean_method(object: Object, class: Class, method: MethodId, arguments: *const Value) -> u8;
    94 get_field_id(class: Class, name: *const c_char, signature: *const c_char) -> FieldId;
    95 get_object_field(object: Object, field: FieldId) -> Object;
    101 get_long_field(object: Object, field: FieldId) -> i64;
    109 set_int_field(object: Object, field: FieldId, value: i32);
    110 set_long_field(object: Object, field: FieldId, value: i64);
    113 get_static_method_id(class: Class, name: *const c_char, signature: *const c_char) -> MethodId;
    116 call_static_object_method(class: Class, method: MethodId, arguments: *const Value) -> Object;
    119 call_static_boolean_method(class: Class, method: MethodId, arguments: *const Value) -> u8;
    134 call_static_long_method(class: Class, method: MethodId, arguments: *const Value) -> i64;
    144 get_static_field_id(class: Class, name: *const c_char, signature: *const c_char) -> FieldId;
    145 get_static_object_field(class: Class, field: FieldId) -> Object;
    154 set_static_object_field(class: Class, field: FieldId, value: Object);
    155 set_static_boolean_field(class: Class, field: FieldId, value: u8);
    160 set_static_long_field(class: Class, field: FieldId, value: i64);
    164 get_string_length(text: Object) -> i32;
    167 new_string_utf(text: *const c_char) -> Object;
    168 get_string_utf_length(text: Object) -> i32;
    171 get_array_length(array: Object) -> i32;
    172 new_object_array(length: i32, class: Class, initial: Object) -> Object;
    173 get_object_array_element(array: Object, index: i32) -> Object;
    174 set_object_array_element(array: Object, index: i32, value: Object);
    215 register_natives(class: Class, methods: *const NativeMethod, count: i32) -> i32;
    217 monitor_enter(object: Object) -> i32;
    218 monitor_exit(object: Object) -> i32;
    221 get_string_utf_region(text: Object, start: i32, length: i32, to: *mut c_char);
    222 get_primitive_array_critical(array: Object, is_copy: *mut u8) -> *mut c_void;
    223 release_primitive_array_critical(array: Object, elements: *mut c_void, mode: i32);
    228 exception_check() -> u8;
}

impl Env {
    /// Forgets an exception, and says whether there was one.
    pub fn clear(self) -> bool {
        // SAFETY: may be called at any time.
        unsafe {
            let pending = self.exception_check() != 0;
            if pending {
                self.exception_clear();
            }
            pending
        }
    }

    /// A method of a class, or `None` if it has none of that name and signature.
    pub fn method(self, class: Class, name: &CStr, signature: &CStr) -> Option<MethodId> {
        // SAFETY: a class, and names that live for the call.
        let method = unsafe { self.get_method_id(class, name.as_ptr(), signature.as_ptr()) };
        (!self.clear() && !method.is_null()).then_some(method)
    }

    pub fn static_method(self, class: Class, name: &CStr, signature: &CStr) -> Option<MethodId> {
        // SAFETY: as above.
        let method = unsafe { self.get_static_method_id(class, name.as_ptr(), signature.as_ptr()) };
        (!self.clear() && !method.is_null()).then_some(method)
    }

    pub fn field(self, class: Class, name: &CStr, signature: &CStr) -> Option<FieldId> {
        // SAFETY: as above.
        let field = unsafe { self.get_field_id(class, name.as_ptr(), signature.as_ptr()) };
        (!self.clear() && !field.is_null()).then_some(field)
    }

    pub fn static_field(self, class: Class, name: &CStr, signature: &CStr) -> Option<FieldId> {
        // SAFETY: as above.
        let field = unsafe { self.get_static_field_id(class, name.as_ptr(), signature.as_ptr()) };
        (!self.clear() && !field.is_null()).then_some(field)
    }

    /// What is in a string.
    pub fn text(self, string: Object) -> String {
        if string.is_null() {
            return String::new();
        }
        // SAFETY: a string, and room for its bytes and a zero behind them.
        unsafe {
            let mut text = vec![0_u8; self.get_string_utf_length(string) as usize + 1];
            self.get_string_utf_region(string, 0, self.get_string_length(string), text.as_mut_ptr().cast());
            text.pop();
            String::from_utf8_lossy(&text).into_owned()
        }
    }

    /// A class that the machine itself loads.
    pub fn class(self, name: &CStr) -> Option<Class> {
        // SAFETY: a name that lives for the call.
        let class = unsafe { self.find_class(name.as_ptr()) };
        (!self.clear() && !class.is_null()).then_some(class)
    }
}
