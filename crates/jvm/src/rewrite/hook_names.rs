//! The methods of the hook class, as rewritten code calls them.

use crate::classfile::{Pool, Result};
use std::collections::HashMap;

/// The hook classes. They live in a package that every class of every loader sees.
pub const HOOK_CLASS: &str = "java/lang/ReweaveHooks";
pub const ATOMICS_CLASS: &str = "java/lang/ReweaveAtomics";
/// The field that holds an object's address.
pub const ADDRESS_FIELD: &str = "$reweave";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hook {
    /// After an access; the letter is the value's type.
    ReadField(u8),
    WroteField(u8),
    ReadStatic(u8),
    WroteStatic(u8),
    ReadElement(u8),
    WroteElement(u8),
    /// After `Field.get` and `Field.set` and their like; the first gives the value back.
    GotReflected(u8),
    SetReflected(u8),
    BeforeReflected,
    /// Before an access, where a run needs to stop there.
    BeforeField,
    BeforeStatic,
    BeforeElement,
    FilledArray,
    MadeObject,
    MadeArray,
    Cloned,
    /// Instead of `clone` of an array.
    ClonedArray,
    /// Instead of `System.arraycopy`.
    CopiedArray,
    /// The same within a collection.
    CopiedWithin,
    /// After `Thread.join` and `Thread.isAlive`, which tell that a thread has ended.
    Joined,
    CheckedAlive,
    /// Before `Thread.interrupt`, `isInterrupted` and `interrupted`.
    Interrupting,
    /// After the two latter.
    CheckedInterrupted,
    CheckedOwnInterruption,
    /// After a fence.
    Fenced,
    EnteringMonitor,
    LeftMonitor,
    /// Entry and exit of a `synchronized` method whose monitor the machine itself takes.
    EnteredMethod,
    LeavingMethod,
    /// Begin and end of a method of a lock of `java.util.concurrent`.
    EnteringLock,
    LeftLock,
    /// In a wait for a condition of such a lock.
    GivingLockUp,
    GaveLockUp,
    TakingLockBack,
    TookLockBack,
    BeginInitializer,
    EndInitializer,
    /// A class is used that may have to be initialized first.
    UsingClass,
    /// The stack of calls that led to the method.
    Stack,
    Calling,
    /// The same for a call to a collection or a lock of the JDK: what is done there is done here.
    CallingInto,
    Returned,
    /// An exception that nobody catches.
    Uncaught,
    /// The class object as lock, in classes too old to load it as a constant.
    ClassOfSite,
}

/// Types that hooks tell apart.
const LETTERS: &[u8] = b"ZBCSIJFDL";

impl Hook {
    /// Every hook that rewritten code may call.
    pub fn all() -> impl Iterator<Item = Self> {
        let typed = LETTERS.iter().flat_map(|&letter| {
            let elements = [Self::ReadElement(letter), Self::WroteElement(letter)];
            let others = [
                Self::ReadField(letter),
                Self::WroteField(letter),
                Self::ReadStatic(letter),
                Self::WroteStatic(letter),
                Self::GotReflected(letter),
                Self::SetReflected(letter),
            ];
            // Arrays of booleans are accessed as bytes.
            others.into_iter().chain(elements.into_iter().filter(move |_| letter != b'Z'))
        });
        typed.chain([
            Self::BeforeReflected,
            Self::BeforeField,
            Self::BeforeStatic,
            Self::BeforeElement,
            Self::FilledArray,
            Self::MadeObject,
            Self::MadeArray,
            Self::Cloned,
            Self::ClonedArray,
            Self::CopiedArray,
            Self::CopiedWithin,
            Self::Joined,
            Self::CheckedAlive,
            Self::Interrupting,
            Self::CheckedInterrupted,
            Self::CheckedOwnInterruption,
            Self::Fenced,
            Self::EnteringMonitor,
            Self::LeftMonitor,
            Self::EnteredMethod,
            Self::LeavingMethod,
            Self::EnteringLock,
            Self::LeftLock,
            Self::GivingLockUp,
            Self::GaveLockUp,
            Self::TakingLockBack,
            Self::TookLockBack,
            Self::BeginInitializer,
            Self::EndInitializer,
            Self::UsingClass,
            Self::Stack,
            Self::Calling,
            Self::CallingInto,
            Self::Returned,
            Self::Uncaught,
            Self::ClassOfSite,
        ])
    }

    pub fn name_and_descriptor(self) -> (&'static str, String) {
        let value =
            |letter: u8| if letter == b'L' { "Ljava/lang/Object;".into() } else { char::from(letter).to_string() };
        match self {
            Self::ReadField(letter) => ("readField", format!("(Ljava/lang/Object;{}I)V", value(letter))),
            Self::WroteField(letter) => ("wroteField", format!("(Ljava/lang/Object;{}I)V", value(letter))),
            Self::ReadStatic(letter) => ("readStatic", format!("({}I)V", value(letter))),
            Self::WroteStatic(letter) => ("wroteStatic", format!("({}I)V", value(letter))),
            Self::ReadElement(letter) => ("readElement", format!("(Ljava/lang/Object;I{}I)V", value(letter))),
            Self::WroteElement(letter) => ("wroteElement", format!("(Ljava/lang/Object;I{}I)V", value(letter))),
            Self::GotReflected(letter) => {
                let value = value(letter);
                ("gotReflected", format!("(Ljava/lang/Object;Ljava/lang/Object;{value}I){value}"))
            }
            Self::SetReflected(letter) => {
                ("setReflected", format!("(Ljava/lang/Object;Ljava/lang/Object;{}I)V", value(letter)))
            }
            Self::BeforeReflected => ("beforeReflected", "(Ljava/lang/Object;Ljava/lang/Object;II)V".into()),
            Self::BeforeField => ("beforeField", "(Ljava/lang/Object;I)V".into()),
            Self::BeforeStatic => ("beforeStatic", "(I)V".into()),
            Self::BeforeElement => ("beforeElement", "(Ljava/lang/Object;II)V".into()),
            Self::FilledArray => ("filledArray", "(Ljava/lang/Object;I)V".into()),
            Self::MadeObject => ("madeObject", "(Ljava/lang/Object;I)V".into()),
            Self::MadeArray => ("madeArray", "(Ljava/lang/Object;I)V".into()),
            Self::Cloned => ("cloned", "(Ljava/lang/Object;Ljava/lang/Object;I)V".into()),
            Self::ClonedArray => ("clonedArray", "(Ljava/lang/Object;I)Ljava/lang/Object;".into()),
            Self::CopiedArray => ("copiedArray", "(Ljava/lang/Object;ILjava/lang/Object;III)V".into()),
            Self::CopiedWithin => ("copiedWithin", "(Ljava/lang/Object;ILjava/lang/Object;III)V".into()),
            Self::Joined => ("joined", "(Ljava/lang/Object;I)V".into()),
            Self::CheckedAlive => ("checkedAlive", "(Ljava/lang/Object;ZI)Z".into()),
            Self::Interrupting => ("interrupting", "()V".into()),
            Self::CheckedInterrupted => ("checkedInterrupted", "(Ljava/lang/Object;ZI)Z".into()),
            Self::CheckedOwnInterruption => ("checkedOwnInterruption", "(ZI)Z".into()),
            Self::Fenced => ("fenced", "(I)V".into()),
            Self::EnteringMonitor => ("enteringMonitor", "(Ljava/lang/Object;I)V".into()),
            Self::LeftMonitor => ("leftMonitor", "(Ljava/lang/Object;I)V".into()),
            Self::EnteredMethod => ("enteredMethod", "(Ljava/lang/Object;I)V".into()),
            Self::LeavingMethod => ("leavingMethod", "(Ljava/lang/Object;I)V".into()),
            Self::EnteringLock => ("enteringLock", "(Ljava/lang/Object;I)Ljava/lang/Object;".into()),
            Self::LeftLock => ("leftLock", "(ZLjava/lang/Object;I)V".into()),
            Self::GivingLockUp => ("givingLockUp", "(Ljava/lang/Object;I)V".into()),
            Self::TookLockBack => ("tookLockBack", "(Ljava/lang/Object;I)V".into()),
            Self::GaveLockUp => ("gaveLockUp", "(Ljava/lang/Object;I)V".into()),
            Self::TakingLockBack => ("takingLockBack", "(Ljava/lang/Object;I)V".into()),
            Self::BeginInitializer => ("beginInitializer", "(I)V".into()),
            Self::EndInitializer => ("endInitializer", "(I)V".into()),
            Self::UsingClass => ("usingClass", "(I)V".into()),
            Self::Stack => ("stack", "()I".into()),
            Self::Calling => ("calling", "(II)V".into()),
            Self::CallingInto => ("callingInto", "(II)V".into()),
            Self::Returned => ("returned", "(I)V".into()),
            Self::Uncaught => ("uncaught", "(Ljava/lang/Throwable;)V".into()),
            Self::ClassOfSite => ("classOfSite", "(I)Ljava/lang/Class;".into()),
        }
    }
}

/// Method constants of hooks in one class's pool.
#[derive(Clone, Default, Debug)]
pub struct HookConstants {
    known: HashMap<Hook, u16>,
}

impl HookConstants {
    pub fn get(&mut self, hook: Hook, pool: &mut Pool<'_>) -> Result<u16> {
        if let Some(index) = self.known.get(&hook) {
            return Ok(*index);
        }
        let (name, descriptor) = hook.name_and_descriptor();
        let index = pool.add_method(HOOK_CLASS.as_bytes(), name.as_bytes(), descriptor.as_bytes())?;
        self.known.insert(hook, index);
        Ok(index)
    }

    /// Forgets constants that the pool no longer has.
    pub fn truncate(&mut self, count: usize) {
        self.known.retain(|_, index| usize::from(*index) < count);
    }
}
