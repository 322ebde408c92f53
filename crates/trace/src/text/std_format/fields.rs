//! The fields of a line of STD text.

use super::NAMED_LOCATIONS_AT;

/// `thread|name(operand)|location`
pub(super) struct Fields<'a> {
    pub thread: &'a [u8],
    pub name: &'a [u8],
    /// Empty only where none is needed.
    pub operand: &'a [u8],
    pub location: Location<'a>,
}

pub(super) enum Location<'a> {
    /// Small enough to be an address of its own.
    Number(u64),
    Name(&'a [u8]),
}

/// The fields of the line that the text begins with, and the length of the line with its end, if it is a line as
/// nearly all are: an operand, a number for its location, no space around it. `None` says nothing about other lines.
#[inline]
pub(super) fn simple(text: &[u8]) -> Option<(Fields<'_>, usize)> {
    let first = *text.first()?;
    if first == b'#' || first.is_ascii_whitespace() {
        return None;
    }
    let find = |from: usize, wanted: u8| {
        let found = text[from..].iter().position(|&byte| byte == wanted || byte == b'\n')?;
        (text[from + found] == wanted).then_some(from + found)
    };
    let one = find(0, b'|')?;
    let two = find(one + 1, b'|')?;
    let op = &text[one + 1..two];
    let open = op.iter().position(|&byte| byte == b'(')?;
    let operand = op[open + 1..].strip_suffix(b")").filter(|operand| !operand.is_empty())?;
    let (mut number, mut at) = (0u64, two + 1);
    loop {
        let digit = text.get(at)?.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number * 10 + u64::from(digit);
        at += 1;
        if at - two > MOST_DIGITS + 1 {
            return None;
        }
    }
    if text[at] != b'\n' || at == two + 1 || number >= NAMED_LOCATIONS_AT - 1 {
        return None;
    }
    let fields = Fields { thread: &text[..one], name: &op[..open], operand, location: Location::Number(number) };
    Some((fields, at + 1))
}

const MOST_DIGITS: usize = 15;

impl<'a> Fields<'a> {
    /// Of any line, which is not empty and has no space around it.
    pub fn of(line: &'a [u8]) -> Result<Self, String> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bar = |from: usize| line[from..].iter().position(|&byte| byte == b'|').map(|at| from + at);
        let ends = bar(0).and_then(|one| Some((one, bar(one + 1)?)));
        let Some((one, two)) = ends.filter(|&(_, two)| bar(two + 1).is_none()) else {
            return Err(format!("expected `thread|op(operand)|location`, found `{}`", shown(line)));
        };
        let (thread, op, location) = (&line[..one], &line[one + 1..two], &line[two + 1..]);
        let (name, operand) = match op.iter().position(|&byte| byte == b'(') {
            Some(at) => {
                let operand = op[at + 1..].strip_suffix(b")");
                (&op[..at], operand.ok_or_else(|| format!("`{}` lacks its `)`", shown(op)))?)
            }
            None => (op, &[][..]),
        };
        if operand.is_empty() && !matches!(name, b"begin" | b"end") {
            return Err(format!("`{}` needs an operand", shown(op)));
        }
        let location = number(location).map_or(Location::Name(location), Location::Number);
        Ok(Self { thread, name, operand, location })
    }
}

/// A location that is a number small enough to be an address of its own.
fn number(location: &[u8]) -> Option<u64> {
    if location.is_empty() || location.len() > MOST_DIGITS {
        return None;
    }
    let mut number = 0u64;
    for &byte in location {
        number = number * 10 + u64::from(byte.wrapping_sub(b'0'));
        if !byte.is_ascii_digit() {
            return None;
        }
    }
    (number < NAMED_LOCATIONS_AT - 1).then_some(number)
}

/// Bytes before the end of the line, eight at a time.
#[inline]
pub(super) fn line_len(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let differs = u64::from_le_bytes(*chunk) ^ (ONES * b'\n' as u64);
        let zero = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
        if zero != 0 {
            return at + zero.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + text[at..].iter().position(|&byte| byte == b'\n').unwrap_or(text.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(fields: &Fields<'_>) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let location = match fields.location {
            Location::Number(number) => number.to_string(),
            Location::Name(name) => format!("`{}`", text(name)),
        };
        format!("{} {} {} {location}", text(fields.thread), text(fields.name), text(fields.operand))
    }

    #[test]
    fn simple_lines_are_read_as_any_other() {
        let lines = [
            "T1|r(V1)|17",
            "T1|w(a(b)|c)|17",
            "T1|w(a(b))|0017",
            "T 1|acq(L)|1",
            "T1|end|5",
            "T1|begin()|5",
            "T1|r()|5",
            "T1|r(x)|",
            "T1|r(x)|12a",
            "T1|r(x)|-1",
            "T1|r(x)|123456789012345",
            "T1|r(x)|1234567890123456",
            "T1|r(x)|1099511627774",
            "T1|r(x)|1099511627775",
            "T1|r(x|7",
            "|r(x)|7",
            "T1|r(x)|7|8",
            "T1r(x)7",
            "#|r(x)|7",
            "T1|(x)|7",
            "T1|r(x)",
            "T1",
        ];
        let mut simple_ones = 0;
        for line in lines {
            let text = format!("{line}\nT9|w(next)|1\n");
            let Some((fields, len)) = simple(text.as_bytes()) else { continue };
            simple_ones += 1;
            assert_eq!(len, line.len() + 1, "{line}");
            let any = Fields::of(line.as_bytes()).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert_eq!(text_of(&fields), text_of(&any), "{line}");
        }
        assert_eq!(simple_ones, 6);
        assert!(simple(b"T1|r(x)|7").is_none(), "the last line may lack its end");
        assert!(simple(b"T1|r(x)|7\r\n").is_none() && simple(b" T1|r(x)|7\n").is_none());
    }
}
