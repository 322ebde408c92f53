//! Classes and members of the machine that the agent asks for again and again.

use super::jni::{Class, Env, FieldId, MethodId, Object, Value};
use super::status::StatusField;
use std::ffi::CStr;

pub struct Known {
    pub hooks: Class,
    pub holder: FieldId,
    pub quiet: FieldId,
    pub address_of: MethodId,
    known_address: MethodId,
    element: MethodId,
    pub thread: Class,
    pub interrupted: MethodId,
    pub holds_lock: MethodId,
    is_interrupted: MethodId,
    pub is_alive: MethodId,
    pub join: MethodId,
    pub status: StatusField,
    pub class: Class,
    pub for_name: MethodId,
    pub interrupted_exception: Class,
    unsafe_object: Object,
    object_offset: MethodId,
    static_offset: MethodId,
    ensure_initialized: MethodId,
}

// SAFETY: references are global ones; ids are valid on every thread.
unsafe impl Send for Known {}
// SAFETY: as above.
unsafe impl Sync for Known {}

impl Known {
    /// `None` if one of them is not there.
    pub fn find(env: Env, hooks: Class) -> Option<Self> {
        // SAFETY: valid references.
        let global = |object: Object| unsafe { env.new_global_ref(object) };
        let class = |name: &CStr| env.class(name).map(global);
        let thread = class(c"java/lang/Thread")?;
        let class_class = class(c"java/lang/Class")?;
        let unsafe_class = class(c"jdk/internal/misc/Unsafe")?;
        let get_unsafe = env.static_method(unsafe_class, c"getUnsafe", c"()Ljdk/internal/misc/Unsafe;")?;
        // SAFETY: a static method without arguments.
        let unsafe_object =
            global(unsafe { env.call_static_object_method(unsafe_class, get_unsafe, std::ptr::null()) });
        if env.clear() || unsafe_object.is_null() {
            return None;
        }
        let offset_of = |name| env.method(unsafe_class, name, c"(Ljava/lang/reflect/Field;)J");
        let for_name = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        let hooks = global(hooks);
        Some(Self {
            hooks,
            holder: env.static_field(hooks, c"holder", c"Ljava/lang/Thread;")?,
            quiet: env.static_field(hooks, c"quiet", c"Ljava/lang/Thread;")?,
            address_of: env.static_method(hooks, c"addressOf", c"(Ljava/lang/Object;I)J")?,
            known_address: env.static_method(hooks, c"known", c"(Ljava/lang/Object;)J")?,
            element: env.static_method(hooks, c"element", c"(Ljava/lang/Object;II)J")?,
            thread,
            interrupted: env.static_method(thread, c"interrupted", c"()Z")?,
            holds_lock: env.static_method(thread, c"holdsLock", c"(Ljava/lang/Object;)Z")?,
            status: StatusField::find(env, thread)?,
            is_interrupted: env.method(thread, c"isInterrupted", c"()Z")?,
            is_alive: env.method(thread, c"isAlive", c"()Z")?,
            join: env.method(thread, c"join", c"(J)V")?,
            class: class_class,
            for_name: env.static_method(class_class, c"forName", for_name)?,
            interrupted_exception: class(c"java/lang/InterruptedException")?,
            unsafe_object,
            object_offset: offset_of(c"objectFieldOffset")?,
            static_offset: offset_of(c"staticFieldOffset")?,
            ensure_initialized: env.method(unsafe_class, c"ensureClassInitialized", c"(Ljava/lang/Class;)V")?,
        })
    }

    /// Where a field really lies: in its object, or in the object of its class. Negative if the machine does not say.
    pub fn offset(&self, env: Env, class: Class, field: FieldId, is_static: bool) -> i64 {
        // SAFETY: a field of that class; references are given back.
        unsafe {
            let reflected = env.to_reflected_field(class, field, u8::from(is_static));
            if env.clear() || reflected.is_null() {
                return -1;
            }
            let method = if is_static { self.static_offset } else { self.object_offset };
            let offset = env.call_long_method(self.unsafe_object, method, &Value { object: reflected });
            env.delete_local_ref(reflected);
            if env.clear() { -1 } else { offset }
        }
    }

    /// Initializes a class, which may leave an exception.
    pub fn ensure_initialized(&self, env: Env, class: Class) {
        // SAFETY: a method with one argument.
        unsafe { env.call_void_method(self.unsafe_object, self.ensure_initialized, &Value { object: class }) };
    }

    /// Whether the calling thread is in the monitor of an object.
    pub fn holds_lock(&self, env: Env, object: Object) -> bool {
        // SAFETY: a static method with one argument.
        unsafe { env.call_static_boolean_method(self.thread, self.holds_lock, &Value { object }) != 0 }
    }

    /// Whether the calling thread was interrupted; it no longer is.
    pub fn interrupted(&self, env: Env) -> bool {
        // SAFETY: a static method without arguments.
        unsafe { env.call_static_boolean_method(self.thread, self.interrupted, std::ptr::null()) != 0 }
    }

    pub fn is_interrupted(&self, env: Env, thread: Object) -> bool {
        // SAFETY: a method of threads; one that a class of the program has in its place is not asked.
        unsafe { env.call_nonvirtual_boolean_method(thread, self.thread, self.is_interrupted, std::ptr::null()) != 0 }
    }

    pub fn is_alive(&self, env: Env, thread: Object) -> bool {
        // SAFETY: a method of threads.
        unsafe { env.call_boolean_method(thread, self.is_alive, std::ptr::null()) != 0 }
    }

    pub fn address_of(&self, env: Env, object: Object) -> u64 {
        // SAFETY: a static method with these arguments.
        unsafe {
            env.call_static_long_method(self.hooks, self.address_of, [Value { object }, Value { int: 0 }].as_ptr())
                as u64
        }
    }

    /// What an element of an array of objects holds, which gets an address if it has none.
    pub fn element(&self, env: Env, array: Object, index: i32, site: i32) -> u64 {
        let arguments = [Value { object: array }, Value { int: index }, Value { int: site }];
        // SAFETY: a static method with these arguments.
        unsafe { env.call_static_long_method(self.hooks, self.element, arguments.as_ptr()) as u64 }
    }

    /// The address of an object, 0 if it has none yet.
    pub fn known_address(&self, env: Env, object: Object) -> u64 {
        // SAFETY: a static method with one argument.
        unsafe { env.call_static_long_method(self.hooks, self.known_address, &Value { object }) as u64 }
    }
}
