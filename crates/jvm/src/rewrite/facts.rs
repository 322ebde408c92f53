//! What rewriting finds out about a class: enough to name everything its hooks report, without the class file.

/// A class that went through the rewriter.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// As class files spell it: `java/util/HashMap`.
    pub name: String,
    pub super_name: Option<String>,
    pub source_file: Option<String>,
    /// Whether the class got the field that holds its objects' addresses.
    pub has_address_field: bool,
    /// Whether a constructor hands out the object before it is done.
    pub hands_out_this: bool,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
    /// Fields and methods that sites name, as the code spells them: the class may be one that inherits the field.
    pub members: Vec<MemberName>,
    /// Places that call hooks; the first has the number that the options gave.
    pub sites: Vec<Site>,
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub descriptor: String,
    pub access: u16,
}

#[derive(Clone, Debug)]
pub struct Method {
    pub name: String,
    pub descriptor: String,
    pub access: u16,
    /// Length of its code before it was rewritten; 0 without code.
    pub length: u16,
    /// Source lines by original place, sorted by place: the line holds up to the next entry.
    // invariant: sorted by the first number
    pub lines: Vec<(u16, u16)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MemberName {
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

/// A place that calls a hook.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub kind: SiteKind,
    /// Number of the method, and the place in its code before it was rewritten.
    pub method: u16,
    pub pc: u16,
    /// Index in [`Facts::members`]; `u32::MAX` for sites that name none.
    pub member: u32,
    /// The straight piece of code it belongs to, counted within the method.
    pub block: u32,
    /// Its operand can depend on a read of the same block.
    pub depends: bool,
}

pub const NO_MEMBER: u32 = u32::MAX;

/// What a site does. Letters are types as in descriptors; `L` stands for every reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteKind {
    ReadField(u8),
    WriteField(u8),
    ReadStatic(u8),
    WriteStatic(u8),
    ReadElement(u8),
    WriteElement(u8),
    /// An array literal is complete.
    FilledArray,
    MadeObject,
    MadeArray,
    Cloned,
    CopiedArray,
    /// A field is accessed by reflection.
    Reflected,
    /// A thread may be seen to have ended.
    Joined,
    EnterMonitor,
    ExitMonitor,
    /// Entry and exit of a `synchronized` method.
    EnterMethod,
    ExitMethod,
    BeginInitializer,
    EndInitializer,
    /// A class may have to be initialized.
    UseClass,
    Call,
    /// A call that leads into a collection of the JDK: what is accessed there is accessed here.
    CallCollection,
    Unsafe(super::unsafe_calls::UnsafeCall),
    Fence(super::fences::Fence),
    /// Begin or end of a method of a lock.
    Lock(super::LockCall),
    /// A wait for a condition gives its lock up or takes it back.
    ConditionWait,
}

impl SiteKind {
    /// Whether a field or an element is accessed there.
    pub const fn is_access(self) -> bool {
        matches!(
            self,
            Self::ReadField(_)
                | Self::WriteField(_)
                | Self::ReadStatic(_)
                | Self::WriteStatic(_)
                | Self::ReadElement(_)
                | Self::WriteElement(_)
        )
    }
}

/// A method whose accesses are not seen, or not all of what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    pub method: u16,
    pub what: Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Calls are not on the stacks of what happens below: with them the method would be too long.
    Calls,
    /// The method is as it was, because it would become too long.
    Everything,
}
