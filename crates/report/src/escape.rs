//! Text of a program inside other languages. Names come from the program under test: nothing in them may be taken for
//! markup, and nothing for a command of a script.

use std::fmt::Write as _;

/// Longer texts are cut wherever people read them.
const LONGEST: usize = 400;

/// For text and for attributes in double quotes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // Directions of writing can be turned round, so that text shows as another one.
            c if c.is_control() || is_direction(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// As [`html`], cut to what somebody reads.
pub fn html_short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => html(&text[..at]) + "…",
        None => html(text),
    }
}

/// The same characters are dangerous in XML, and control characters are not allowed at all.
pub fn xml(text: &str) -> String {
    let allowed = |c: char| if matches!(c, '\u{fffe}' | '\u{ffff}') { char::REPLACEMENT_CHARACTER } else { c };
    html(text).chars().map(allowed).collect::<String>().replace('\n', "&#10;").replace('\t', "&#9;")
}

/// JSON inside a `<script>` element: nothing in it may end the element or start a comment.
pub fn json_in_html(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// For the terminal: a name may hold what a terminal takes for a command.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => '\n',
        '\t' => ' ',
        c if c.is_control() || is_direction(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// A path as part of a URI.
pub fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

const fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_browser_would_act_on() {
        let hostile = "</script><img src=x onerror='alert(1)'>\"&\u{202e}\u{0}";
        let escaped = html(hostile);
        assert!(!escaped.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}']), "{escaped}");
        let json = json_in_html(&serde_json::to_string(hostile).expect("a string"));
        assert!(!json.contains(['<', '>', '&']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).expect("still JSON"), hostile);
    }

    #[test]
    fn xml_has_no_control_characters() {
        assert_eq!(xml("a\u{1}b\n<\u{ffff}"), "a\u{fffd}b&#10;&lt;\u{fffd}");
    }

    #[test]
    fn uris() {
        assert_eq!(uri("/a b/ä.c"), "/a%20b/%C3%A4.c");
    }
}
