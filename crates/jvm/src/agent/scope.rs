//! Which classes get which hooks.
//!
//! All of the program's own get all. Of the JDK's own, those that programs synchronize by: their monitors, volatile
//! fields and atomic operations order what threads do; what lies beneath is their own business. Collections that
//! programs guard themselves: what they hold is the program's business while it calls them. And nothing is recorded
//! while the machine loads a class or links a call.

use crate::rewrite::{Scope, collections};

/// Packages of the JDK.
const JDK: [&[u8]; 7] = [b"java/", b"javax/", b"jdk/", b"sun/", b"com/sun/", b"org/graalvm/", b"netscape/"];

/// Classes that programs synchronize by, as beginnings of names.
const SYNCHRONIZING: [&[u8]; 9] = [
    b"java/util/concurrent/",
    b"java/util/Stack",
    b"java/util/Collections$Synchronized",
    b"java/util/Timer",
    b"java/util/TaskQueue",
    b"java/util/Observable",
    b"java/io/Piped",
    b"java/io/ByteArrayOutputStream",
    b"java/io/StringWriter",
];

/// Those of them whose data lies behind locks, as beginnings of names.
const GUARDED: [&[u8]; 10] = [
    b"java/util/concurrent/ArrayBlockingQueue",
    b"java/util/concurrent/LinkedBlockingQueue",
    b"java/util/concurrent/LinkedBlockingDeque",
    b"java/util/concurrent/PriorityBlockingQueue",
    b"java/util/concurrent/DelayQueue",
    b"java/util/concurrent/ScheduledThreadPoolExecutor",
    b"java/util/concurrent/ThreadPoolExecutor",
    b"java/util/concurrent/CyclicBarrier",
    b"java/util/concurrent/FutureTask",
    b"java/util/concurrent/CopyOnWriteArray",
];

/// Beginnings of names of the classes below variable handles; what follows is a `$`, if anything.
const BELOW_HANDLES: [&[u8]; 9] = [
    b"java/lang/invoke/VarHandleBooleans",
    b"java/lang/invoke/VarHandleBytes",
    b"java/lang/invoke/VarHandleShorts",
    b"java/lang/invoke/VarHandleChars",
    b"java/lang/invoke/VarHandleInts",
    b"java/lang/invoke/VarHandleLongs",
    b"java/lang/invoke/VarHandleFloats",
    b"java/lang/invoke/VarHandleDoubles",
    b"java/lang/invoke/VarHandleReferences",
];

/// Where the machine asks the JDK to load a class or to link something.
const QUIET: [(&[u8], &[&[u8]]); 3] = [
    (b"jdk/internal/loader/BuiltinClassLoader", &[b"loadClassOrNull", b"findClassOnClassPathOrNull"]),
    (b"java/lang/ClassLoader", &[b"loadClass", b"checkPackageAccess"]),
    (
        b"java/lang/invoke/MethodHandleNatives",
        &[b"linkCallSite", b"linkMethod", b"linkMethodHandleConstant", b"findMethodHandleType", b"linkDynamicConstant"],
    ),
];

/// What of the class of that name gets hooks; `None`: nothing.
pub fn scope(name: &[u8]) -> Option<Scope<'static>> {
    let starts = |prefix: &&[u8]| name.starts_with(prefix);
    if !JDK.iter().any(|prefix| starts(prefix)) {
        return Some(Scope::Everything);
    }
    if collections::holds(name) {
        return Some(Scope::Collections);
    }
    if GUARDED.iter().any(|prefix| starts(prefix)) {
        return Some(Scope::Guarded);
    }
    if SYNCHRONIZING.iter().any(|prefix| starts(prefix)) {
        return Some(Scope::Synchronization);
    }
    let below = |handle: &&[u8]| name.strip_prefix(*handle).is_some_and(|rest| rest.starts_with(b"$"));
    if BELOW_HANDLES.iter().any(|handle| below(handle)) {
        return Some(Scope::Synchronization);
    }
    QUIET.iter().find(|(class, _)| *class == name).map(|(_, methods)| Scope::Quiet(methods))
}
