//! The streaming analyses: against the definitions on random traces, against each other, and on the examples of the
//! papers.

mod examples;
mod live;
mod random;
mod reference;
mod refused;
mod serializability;
mod whole;

use reweave_predict::analyses::cp::CpRaces;
use reweave_predict::analyses::hb::HbRaces;
use reweave_predict::analyses::lockset::LocksetRaces;
use reweave_predict::analyses::shb::ShbRaces;
use reweave_predict::analyses::syncp::SyncpRaces;
use reweave_predict::analyses::wcp::WcpRaces;
use reweave_predict::linear::{Linear, run};
use reweave_trace::Trace;

use random::{ALLOCS, ATOMICS, BARRIERS, CHANNELS, JOINS, LOCKS, SHARED};
use reference::{Definitions, PcPairs};

fn found(trace: &Trace, mut analysis: impl Linear) -> PcPairs {
    run(trace, &mut analysis, &mut |_| true).expect("a sound trace");
    let found = analysis.finish();
    assert_eq!(found.dropped, 0);
    found.pcs().iter().map(|(one, two)| (one.0, two.0)).collect()
}

fn definitions(trace: &Trace) -> Definitions {
    let mut definitions = Definitions::default();
    run(trace, &mut definitions, &mut |_| true).expect("a sound trace");
    definitions
}

const MIXES: [u32; 7] = [
    LOCKS,
    LOCKS | SHARED,
    LOCKS | JOINS,
    LOCKS | ATOMICS,
    LOCKS | CHANNELS | JOINS,
    LOCKS | BARRIERS,
    LOCKS | SHARED | ATOMICS | CHANNELS | JOINS | ALLOCS | BARRIERS,
];

#[test]
fn every_analysis_is_its_definition() {
    let mut sizes = [0usize; 6];
    let mut traces = 0;
    for seed in 0..2_400u64 {
        let mix = MIXES[seed as usize % MIXES.len()];
        let trace = random::trace(seed, mix, 8 + seed % 44);
        let definitions = definitions(&trace);
        if !definitions.fits() {
            continue;
        }
        traces += 1;
        let checks = [
            ("hb", found(&trace, HbRaces::default()), definitions.hb()),
            ("shb", found(&trace, ShbRaces::default()), definitions.shb()),
            ("lockset", found(&trace, LocksetRaces::default()), definitions.lockset()),
            ("wcp", found(&trace, WcpRaces::default()), definitions.wcp()),
            ("cp", found(&trace, CpRaces::default()), definitions.cp()),
            ("syncp", found(&trace, SyncpRaces::default()), definitions.syncp()),
        ];
        for ((name, found, expected), size) in checks.iter().zip(&mut sizes) {
            assert_eq!(found, expected, "{name} on seed {seed}, mix {mix}");
            *size += found.len();
        }
    }
    assert!(traces >= 2_000, "only {traces} traces were small enough");
    let [hb, shb, lockset, wcp, cp, syncp] = sizes;
    // Random traces must tell the analyses apart.
    assert!(shb < hb && hb < cp && cp < wcp && wcp < lockset && shb < syncp && syncp < lockset, "{sizes:?}");
}

#[test]
fn stronger_analyses_find_more() {
    for seed in 0..300u64 {
        let trace = random::trace(seed, MIXES[seed as usize % MIXES.len()], 300);
        let (hb, shb) = (found(&trace, HbRaces::default()), found(&trace, ShbRaces::default()));
        let (cp, wcp) = (found(&trace, CpRaces::with_window(100)), found(&trace, WcpRaces::default()));
        let (lockset, syncp) = (found(&trace, LocksetRaces::default()), found(&trace, SyncpRaces::default()));
        assert!(hb.is_subset(&cp), "hb ⊆ cp on seed {seed}");
        assert!(cp.is_subset(&wcp), "cp ⊆ wcp on seed {seed}");
        assert!(wcp.is_subset(&lockset), "wcp ⊆ lockset on seed {seed}");
        assert!(shb.is_subset(&hb) && shb.is_subset(&syncp), "shb ⊆ hb, syncp on seed {seed}");
        assert!(syncp.is_subset(&lockset), "syncp ⊆ lockset on seed {seed}");
    }
}

#[test]
fn several_share_one_pass() {
    let trace = random::trace(7, MIXES[6], 200);
    let mut all: Vec<Box<dyn Linear>> = vec![Box::<HbRaces>::default(), Box::<WcpRaces>::default()];
    run(&trace, &mut all, &mut |_| true).expect("a sound trace");
    let pairs = |found: reweave_predict::linear::Candidates| -> PcPairs {
        found.pcs().iter().map(|(one, two)| (one.0, two.0)).collect()
    };
    assert_eq!(pairs(all[0].finish()), found(&trace, HbRaces::default()));
    assert_eq!(pairs(all[1].finish()), found(&trace, WcpRaces::default()));
}
