//! Which classes get which hooks.
//!
//! All of the program's own get all. Of the JDK's own, those that programs synchronize by: their monitors, volatile
//! fields and atomic operations order what threads do; what lies beneath is their own business. Collections that
//! programs guard themselves: what they hold is the program's business while it calls them. And nothing is recorded
//! while the machine loads a class, links a call or initializes a class of the JDK. The user may say otherwise
//! ([`Wishes`]).

use crate::rewrite::wishes::{ENV_EXCLUDE, ENV_INCLUDE, Wishes};
use crate::rewrite::{Scope, collections};
use std::sync::OnceLock;

/// Packages of the JDK.
const JDK: [&[u8]; 7] = [b"java/", b"javax/", b"jdk/", b"sun/", b"com/sun/", b"org/graalvm/", b"netscape/"];

/// What runs tests and builds, and is not what is tested, as beginnings of names: of it, too, the synchronization is
/// seen. `--include` brings them back.
const AROUND_TESTS: [&[u8]; 22] = [
    b"junit/framework/",
    b"junit/runner/",
    b"junit/textui/",
    b"org/junit/",
    b"org/hamcrest/",
    b"org/opentest4j/",
    b"org/apiguardian/",
    b"org/testng/",
    b"org/assertj/",
    b"org/mockito/",
    b"net/bytebuddy/",
    b"picocli/",
    b"com/beust/jcommander/",
    b"com/intellij/rt/",
    b"org/apache/maven/",
    b"org/codehaus/plexus/",
    b"org/eclipse/sisu/",
    b"org/eclipse/aether/",
    b"com/google/inject/",
    b"org/gradle/",
    b"worker/org/gradle/",
    b"reweave/",
];

/// Classes that programs synchronize by, as beginnings of names.
const SYNCHRONIZING: [&[u8]; 13] = [
    b"java/util/concurrent/",
    b"java/util/Stack",
    b"java/util/Collections$Synchronized",
    b"java/util/Observable",
    b"java/util/Properties",
    b"java/util/logging/",
    b"java/beans/",
    b"java/io/BufferedInputStream",
    b"java/io/BufferedReader",
    b"java/io/ByteArrayOutputStream",
    b"java/io/PrintStream",
    b"java/io/PrintWriter",
    b"java/io/StringWriter",
];

/// Those of them whose data lies behind locks, as beginnings of names. Whether they wait depends on that data: without
/// it, a wait would seem to come whatever another thread did before.
const GUARDED: [&[u8]; 13] = [
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
    b"java/util/Timer",
    b"java/util/TaskQueue",
    b"java/io/Piped",
];

/// Those of them that access plain fields between fences, as beginnings of names: to others that is as if the fields
/// were volatile.
const FENCED: [&[u8]; 1] = [b"java/util/concurrent/ConcurrentSkipList"];

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
const QUIET: [(&[u8], &[&[u8]]); 6] = [
    (b"jdk/internal/loader/BuiltinClassLoader", &[b"loadClassOrNull", b"findClassOnClassPathOrNull"]),
    (b"java/lang/ClassLoader", &[b"loadClass", b"checkPackageAccess"]),
    (
        b"java/lang/invoke/MethodHandleNatives",
        &[b"linkCallSite", b"linkMethod", b"linkMethodHandleConstant", b"findMethodHandleType", b"linkDynamicConstant"],
    ),
    // Types of methods are looked up wherever one is called by a handle for the first time.
    (b"java/lang/invoke/MethodType$ConcurrentWeakInternSet", &[b"get", b"add"]),
    (b"jdk/internal/util/ReferencedKeyMap", &[b"get", b"put", b"putIfAbsent", b"remove", b"removeStaleReferences"]),
    (b"java/lang/invoke/VarForm", &[b"resolveMemberName"]),
];

/// Of other classes of the JDK. A thread that is stopped there would make others wait that need the class, and only
/// the machine would know.
const INITIALIZER: &[&[u8]] = &[b"<clinit>"];

/// What the machine itself works with, as beginnings of names: too many classes for what their initializers do.
const CORE: [&[u8]; 2] = [b"java/lang/", b"jdk/internal/"];

static WISHES: OnceLock<Wishes> = OnceLock::new();

/// What the user wants, from the environment. To be called once, before classes are loaded.
///
/// # Errors
/// What cannot be had.
pub fn wish() -> Result<(), String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let wishes = Wishes::new(&variable(ENV_INCLUDE), &variable(ENV_EXCLUDE))?;
    WISHES.get_or_init(|| wishes);
    Ok(())
}

/// Whether the class is the program's own.
pub fn is_of_program(name: &[u8]) -> bool {
    !JDK.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether plain fields of the class order what threads do, by fences around them.
pub fn is_fenced(name: &[u8]) -> bool {
    FENCED.iter().any(|prefix| name.starts_with(prefix))
}

/// What of the class of that name gets hooks; `None`: nothing.
pub fn scope(name: &[u8]) -> Option<Scope<'static>> {
    let starts = |prefix: &&[u8]| name.starts_with(prefix);
    let of_program = is_of_program(name);
    match WISHES.get().and_then(|wishes| wishes.about(name)) {
        Some(true) if !of_program => return Some(Scope::Guarded),
        // What orders threads is always seen: without it, others would seem to race.
        Some(false) if of_program => return Some(Scope::Synchronization),
        Some(false) if collections::holds(name) => return None,
        None if AROUND_TESTS.iter().any(starts) => return Some(Scope::Synchronization),
        _ => {}
    }
    if of_program {
        return Some(Scope::Everything);
    }
    if collections::holds(name) {
        return Some(Scope::Collections);
    }
    if GUARDED.iter().any(starts) {
        return Some(Scope::Guarded);
    }
    if SYNCHRONIZING.iter().any(starts) {
        return Some(Scope::Synchronization);
    }
    let below = |handle: &&[u8]| name.strip_prefix(*handle).is_some_and(|rest| rest.starts_with(b"$"));
    if BELOW_HANDLES.iter().any(below) {
        return Some(Scope::Synchronization);
    }
    match QUIET.iter().find(|(class, _)| *class == name) {
        Some((_, methods)) => Some(Scope::Quiet(methods)),
        None => (!CORE.iter().any(starts)).then_some(Scope::Quiet(INITIALIZER)),
    }
}

/// Whether the class is rewritten although it was there before us.
pub fn is_rewritten_late(name: &[u8]) -> bool {
    // Nearly all of the others have been initialized by then.
    scope(name).is_some_and(|scope| !matches!(scope, Scope::Quiet(INITIALIZER)))
}
