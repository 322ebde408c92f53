//! What the JDK draws by lot when the machine starts: it is the same in every run of a program, so that runs differ by
//! nothing but their schedules.

use super::jni::{Env, Object};
use super::threads::aside;

/// Any numbers would do.
const SALT: i64 = 0x2545_f491;
const SEED: i64 = 0x243f_6a88_85a3_08d3;

/// To be called in the main thread, before the program. What a JDK does not have is left alone: its values may then
/// differ from run to run, which replays notice.
pub fn settle(env: Env, main: Object) {
    aside(|| {
        sets_and_maps(env);
        random_numbers(env, main);
    });
    env.clear();
}

/// In which order `Set.of` and `Map.of` are iterated over.
fn sets_and_maps(env: Env) -> Option<()> {
    let class = env.class(c"java/util/ImmutableCollections")?;
    let salt = env.static_field(class, c"SALT32L", c"J")?;
    let reverse = env.static_field(class, c"REVERSE", c"Z")?;
    // SAFETY: fields of that class. No code that uses them is compiled yet, so nothing takes them for constants.
    unsafe {
        env.set_static_long_field(class, salt, SALT);
        env.set_static_boolean_field(class, reverse, 0);
    }
    Some(())
}

/// What `ThreadLocalRandom` starts from, and with it how high skip lists are, and where exchangers meet.
fn random_numbers(env: Env, main: Object) -> Option<()> {
    let class = env.class(c"java/util/concurrent/ThreadLocalRandom")?;
    let seeder = env.static_field(class, c"seeder", c"Ljava/util/concurrent/atomic/AtomicLong;")?;
    let value = env.field(env.class(c"java/util/concurrent/atomic/AtomicLong")?, c"value", c"J")?;
    let own = env.field(env.class(c"java/lang/Thread")?, c"threadLocalRandomSeed", c"J")?;
    // SAFETY: fields of these classes.
    unsafe {
        let seeder = env.get_static_object_field(class, seeder);
        if !seeder.is_null() {
            env.set_long_field(seeder, value, SEED);
        }
        env.delete_local_ref(seeder);
        env.set_long_field(main, own, SEED);
    }
    Some(())
}
