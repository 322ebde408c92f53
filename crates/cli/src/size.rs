//! Sizes and times as people type them.

use std::time::Duration;

/// `500M`, `2G`, `100000`: bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1u64,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        other => return Err(format!("unknown unit `{other}`: use K, M, G or T")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a size: try 500M or 2G"))?;
    if !number.is_finite() || number < 0.0 {
        return Err(format!("`{text}` is not a size: try 500M or 2G"));
    }
    Ok((number * unit as f64) as u64)
}

/// `60s`, `2m`, `500ms`, `60`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit `{other}`: use ms, s, m or h")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a time: try 60s or 2m"))?;
    if number < 0.0 {
        return Err(format!("`{text}` is less than no time: try {}", text.trim_start_matches('-')));
    }
    Duration::try_from_secs_f64(number * unit).map_err(|_| format!("`{text}` is not a time: try 60s or 2m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("1.5k"), Ok(1536));
        assert_eq!(parse_size("10"), Ok(10));
        assert!(parse_size("2X").is_err() && parse_size("G").is_err() && parse_size("-1").is_err());
    }

    #[test]
    fn times() {
        assert_eq!(parse_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_time("soon").is_err() && parse_time("-1s").is_err());
    }
}
