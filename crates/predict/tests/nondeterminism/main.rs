//! Nondeterministic reads: both rules against the oracle, and the examples of the paper (Sinha, Malik, Gupta, FMCAD
//! 2012). `REWEAVE_ORACLE=SMALL,LARGE` (histories of up to 16 and of up to 24 events) makes the comparisons longer;
//! `cargo xtask oracle` does so.

mod exact;
mod figures;
mod published;

fn counts(small: u64, large: u64) -> (u64, u64) {
    let long = std::env::var("REWEAVE_ORACLE").ok();
    let long = long.as_deref().and_then(|text| text.split_once(','));
    long.and_then(|(small, large)| Some((small.parse().ok()?, large.parse().ok()?))).unwrap_or((small, large))
}
