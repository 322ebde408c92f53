//! Natives of the JDK that block, tell the time, or list fields: replaced, so every caller is covered, whatever its class. Their
//! names differ between versions; one that is not there under any of its names is an error.

use super::jni::{Class, Env, NativeMethod, Object};
use super::statics::OBJECT;
use super::status::{Status, shown_as};
use super::threads::{self, Jvm};
use super::{agent, interrupts, monitors, reflection, stacks};
use reweave_guest::{Deadline, Pause, Token, Wakeup};
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The machine's own functions, for threads that nobody controls.
pub struct Real {
    pub start_thread: unsafe extern "system" fn(Env, Object),
    pub interrupt: unsafe extern "system" fn(Env, Object),
    pub monitor_wait: unsafe extern "system" fn(Env, Object, i64),
    pub monitor_notify: unsafe extern "system" fn(Env, Object),
    pub monitor_notify_all: unsafe extern "system" fn(Env, Object),
    yields: unsafe extern "system" fn(Env, Class),
    nano_time: unsafe extern "system" fn(Env, Class) -> i64,
    current_time_millis: unsafe extern "system" fn(Env, Class) -> i64,
    halt: unsafe extern "system" fn(i32),
    pub declared_fields: reflection::DeclaredFields,
}

static REAL: OnceLock<Real> = OnceLock::new();

pub fn real() -> &'static Real {
    match REAL.get() {
        Some(real) => real,
        None => unreachable!("found when the natives were replaced"),
    }
}

/// A function that the machine's library exports.
///
/// # Safety
/// `F` is the type of that function.
unsafe fn exported<F: Copy>(name: &'static CStr) -> Result<F, String> {
    assert!(size_of::<F>() == size_of::<*mut c_void>());
    // SAFETY: a name that lives for the call.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("{} (a function of the machine)", name.to_string_lossy()));
    }
    // SAFETY: by the contract.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn find_real() -> Result<Real, String> {
    // SAFETY: types as in the JDK's jvm.h.
    unsafe {
        Ok(Real {
            start_thread: exported(c"JVM_StartThread")?,
            interrupt: exported(c"JVM_Interrupt")?,
            monitor_wait: exported(c"JVM_MonitorWait")?,
            monitor_notify: exported(c"JVM_MonitorNotify")?,
            monitor_notify_all: exported(c"JVM_MonitorNotifyAll")?,
            yields: exported(c"JVM_Yield")?,
            nano_time: exported(c"JVM_NanoTime")?,
            current_time_millis: exported(c"JVM_CurrentTimeMillis")?,
            halt: exported(c"JVM_Halt")?,
            declared_fields: exported(c"JVM_GetClassDeclaredFields")?,
        })
    }
}

/// A native under the names it has in JDK 17 to 25; the functions may differ with the name.
struct Native {
    class: &'static CStr,
    names: &'static [(&'static CStr, &'static CStr, *const c_void)],
}

fn natives() -> [Native; 13] {
    let one = |class, names| Native { class, names };
    const THREAD: &CStr = c"java/lang/Thread";
    const OBJECT: &CStr = c"java/lang/Object";
    const UNSAFE: &CStr = c"jdk/internal/misc/Unsafe";
    const SYSTEM: &CStr = c"java/lang/System";
    macro_rules! names {
        ($($name:literal $signature:literal $function:path),*) => {
            const { &[$(($name, $signature, $function as *const c_void)),*] }
        };
    }
    [
        one(THREAD, names!(c"start0" c"()V" threads::start)),
        one(THREAD, names!(c"interrupt0" c"()V" interrupts::interrupt)),
        one(THREAD, names!(c"yield0" c"()V" yields, c"yield" c"()V" yields)),
        one(
            THREAD,
            names!(c"sleepNanos0" c"(J)V" sleep_nanos, c"sleep0" c"(J)V" sleep_nanos, c"sleep" c"(J)V" sleep_millis),
        ),
        one(OBJECT, names!(c"wait0" c"(J)V" monitors::wait, c"wait" c"(J)V" monitors::wait)),
        one(OBJECT, names!(c"notify" c"()V" monitors::notify)),
        one(OBJECT, names!(c"notifyAll" c"()V" monitors::notify_all)),
        one(UNSAFE, names!(c"park" c"(ZJ)V" park)),
        one(UNSAFE, names!(c"unpark" c"(Ljava/lang/Object;)V" unpark)),
        one(SYSTEM, names!(c"nanoTime" c"()J" nano_time)),
        one(SYSTEM, names!(c"currentTimeMillis" c"()J" current_time_millis)),
        one(
            c"java/lang/Class",
            names!(c"getDeclaredFields0" c"(Z)[Ljava/lang/reflect/Field;" reflection::declared_fields),
        ),
        one(c"java/lang/Shutdown", names!(c"halt0" c"(I)V" halt)),
    ]
}

/// Replaces all of them.
///
/// # Errors
/// What is missing.
pub fn register(env: Env) -> Result<(), String> {
    let real = find_real()?;
    let _ = REAL.set(real);
    for native in natives() {
        let missing = || {
            let names: Vec<_> = native.names.iter().map(|(name, ..)| name.to_string_lossy()).collect();
            format!("the method {}.{}", native.class.to_string_lossy(), names.join(" or "))
        };
        let class = env.class(native.class).ok_or_else(missing)?;
        let found = native.names.iter().any(|(name, signature, function)| {
            let method = NativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), function: *function };
            // SAFETY: a function of that signature.
            let status = unsafe { env.register_natives(class, &raw const method, 1) };
            !env.clear() && status == 0
        });
        if !found {
            return Err(missing());
        }
    }
    Ok(())
}

unsafe extern "system" fn yields(env: Env, class: Class) {
    if threads::enter(env, |inside| inside.pause(Pause::Yield)).is_none() {
        // SAFETY: the machine's own function.
        unsafe { (real().yields)(env, class) };
    }
}

unsafe extern "system" fn sleep_millis(env: Env, _: Class, milliseconds: i64) {
    sleep(env, milliseconds.saturating_mul(1_000_000));
}

unsafe extern "system" fn sleep_nanos(env: Env, _: Class, nanoseconds: i64) {
    sleep(env, nanoseconds);
}

fn sleep(env: Env, nanoseconds: i64) {
    if interrupts::take(env) {
        return interrupts::throw(env);
    }
    let woken = threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| {
            token.me().wait.cancelled.set(false);
            let until = token.now().saturating_add(nanoseconds.max(0) as u64);
            let wakeup = shown_as(token, Status::Sleeping, |token| token.sleep(pc, until));
            token.me().wait.cancelled.set(false);
            wakeup
        })
    });
    if woken.is_none() {
        std::thread::sleep(Duration::from_nanos(nanoseconds.max(0) as u64));
    }
    if woken == Some(Wakeup::Cancelled) && interrupts::take(env) {
        interrupts::throw(env);
    }
}

/// Nanoseconds from which on a time limit is one that nobody expects to pass as long as others have something to do.
const LONG: u64 = 900_000_000;

/// The permit of a thread under control, as a semaphore that never has more than one.
const fn permit(thread: u32) -> u64 {
    0x0800_0000_0000 + thread as u64 * 8
}

/// Says what the permit of a thread that begins is called.
pub fn name_permit(token: &mut Token<'_, Jvm>) {
    let (at, name) = (permit(token.id()), format!("{OBJECT}permit of T{} (park, unpark)", token.id()));
    token.module(at, 8, at, name.as_bytes());
}

unsafe extern "system" fn park(env: Env, _: Object, absolute: u8, time: i64) {
    let parked = threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| {
            let own = permit(token.id());
            let now = token.now();
            let deadline = match (absolute != 0, time) {
                (false, 0) => Deadline::Never,
                (false, nanoseconds) => Deadline::At(now.saturating_add(nanoseconds.max(0) as u64)),
                (true, milliseconds) => {
                    let since =
                        milliseconds.saturating_sub(wall(token.conductor().region().header().start_realtime, 0));
                    Deadline::At(since.max(0) as u64 * 1_000_000)
                }
            };
            if time < 0 {
                return;
            }
            token.sync_point();
            if interrupts::is_set(env) {
                return interrupts::see(token, pc);
            }
            token.me().wait.cancelled.set(false);
            let status = if deadline == Deadline::Never { Status::Parked } else { Status::TimedParked };
            if let Deadline::At(time) = deadline
                && time >= now.saturating_add(LONG)
            {
                token.be_patient();
            }
            let _ = shown_as(token, status, |token| token.semaphore_take(pc, own, deadline));
            token.me().wait.cancelled.set(false);
        });
    });
    if parked.is_none() && time >= 0 {
        let own = own_parker();
        let limit = if absolute != 0 || time == 0 { 100_000_000 } else { time as u64 };
        own.park(Duration::from_nanos(limit));
    }
}

unsafe extern "system" fn unpark(env: Env, _: Object, thread: Object) {
    if thread.is_null() {
        return;
    }
    let Some(target) = threads::number(thread) else { return unpark_unmanaged(thread) };
    threads::enter(env, |inside| {
        stacks::at_call(inside, |token, pc| {
            let own = permit(target);
            if token.objects().semaphores.entry(own).or_default().value == 0 {
                token.semaphore_post(pc, own);
            } else {
                token.sync_point();
            }
        });
    });
}

/// The permit of a thread that nobody controls.
#[derive(Default)]
struct Parker {
    permit: Mutex<bool>,
    given: Condvar,
}

impl Parker {
    /// Returns early now and then, as `park` may.
    fn park(&self, limit: Duration) {
        let permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given.wait_timeout_while(permit, limit, |permit| !*permit);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    fn unpark(&self) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_all();
    }
}

/// They are tagged with the negative of their number here, counted from 1.
static PARKERS: Mutex<Vec<Arc<Parker>>> = Mutex::new(Vec::new());

fn parkers() -> MutexGuard<'static, Vec<Arc<Parker>>> {
    PARKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parker(thread: Object) -> Option<Arc<Parker>> {
    let jvmti = agent().jvmti;
    let mut parkers = parkers();
    let tag = jvmti.tag(thread);
    if tag > 0 {
        return None;
    }
    if tag == 0 {
        parkers.push(Arc::default());
        // SAFETY: a valid reference.
        unsafe { jvmti.set_tag(thread, -(parkers.len() as i64)) };
        return parkers.last().cloned();
    }
    parkers.get((-tag - 1) as usize).cloned()
}

fn own_parker() -> Arc<Parker> {
    let mut thread = std::ptr::null_mut();
    // SAFETY: asks for the calling thread.
    unsafe { agent().jvmti.get_current_thread(&raw mut thread) };
    parker(thread).unwrap_or_default()
}

pub fn unpark_unmanaged(thread: Object) {
    if let Some(parker) = parker(thread) {
        parker.unpark();
    }
}

/// Wall-clock milliseconds after so much virtual time.
const fn wall(start: u64, now: u64) -> i64 {
    ((start + now) / 1_000_000) as i64
}

unsafe extern "system" fn nano_time(env: Env, class: Class) -> i64 {
    let virtual_time = threads::enter(env, |inside| {
        let steps = inside.steps();
        inside.clock().look(steps) as i64
    });
    // SAFETY: the machine's own function.
    virtual_time.unwrap_or_else(|| unsafe { (real().nano_time)(env, class) })
}

unsafe extern "system" fn current_time_millis(env: Env, class: Class) -> i64 {
    let virtual_time = threads::enter(env, |inside| {
        let steps = inside.steps();
        let now = inside.clock().look(steps);
        wall(inside.conductor().region().header().start_realtime, now)
    });
    // SAFETY: the machine's own function.
    virtual_time.unwrap_or_else(|| unsafe { (real().current_time_millis)(env, class) })
}

unsafe extern "system" fn halt(env: Env, _: Class, status: i32) {
    threads::exits(env, status);
    // SAFETY: the machine's own function.
    unsafe { (real().halt)(status) };
}
