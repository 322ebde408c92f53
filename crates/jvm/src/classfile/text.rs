//! The "modified UTF-8" of class files: zero as two bytes, characters beyond the basic plane as two surrogates.

/// Text for people; what is not valid becomes the replacement character.
pub fn decode_text(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let low = |i: usize| tail.get(i).filter(|byte| **byte & 0xc0 == 0x80).map(|byte| u16::from(byte & 0x3f));
        let (unit, used) = match (first >> 4, low(0), low(1)) {
            (0..=7, ..) => (u16::from(first), 0),
            (0xc | 0xd, Some(a), _) => (u16::from(first & 0x1f) << 6 | a, 1),
            (0xe, Some(a), Some(b)) => (u16::from(first & 0x0f) << 12 | a << 6 | b, 2),
            _ => (0xfffd, 0),
        };
        units.push(unit);
        rest = &tail[used..];
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::decode_text;

    #[test]
    fn text_beyond_ascii_is_decoded() {
        assert_eq!(decode_text(b"run"), "run");
        assert_eq!(decode_text(&[0xc0, 0x80]), "\0");
        assert_eq!(decode_text(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "\u{1f600}");
        assert_eq!(decode_text(&[0xe2, 0x82]), "\u{fffd}\u{fffd}");
    }
}
