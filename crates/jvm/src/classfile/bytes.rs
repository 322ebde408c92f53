//! Big-endian numbers out of bytes that may end anywhere.

/// Why bytes are not a class file, or a class cannot be written as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    pub what: &'static str,
    /// Offset in the class file, or in the attribute that was being read.
    pub at: usize,
}

impl Malformed {
    pub const fn new(what: &'static str, at: usize) -> Self {
        Self { what, at }
    }

    /// The class would need a larger number than its format has room for.
    pub const fn too_large(what: &'static str) -> Self {
        Self { what, at: usize::MAX }
    }

    /// Whether the class as such is in order and only became too large for the format.
    pub const fn is_too_large(&self) -> bool {
        self.at == usize::MAX
    }
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_too_large() {
            write!(f, "{} becomes too large for a class file", self.what)
        } else {
            write!(f, "{} (at byte {})", self.what, self.at)
        }
    }
}

impl std::error::Error for Malformed {}

pub type Result<T> = std::result::Result<T, Malformed>;

#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub const fn position(&self) -> usize {
        self.at
    }

    pub const fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub const fn malformed(&self, what: &'static str) -> Malformed {
        Malformed::new(what, self.at)
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..len).ok_or(self.malformed("cut short"))?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u1(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u2(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u4(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u8(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub fn i2(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i4(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }
}
