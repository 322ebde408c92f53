//! A report against an earlier one: what is new, what was known, and what is gone. Findings are the same if their
//! fingerprints are ([`crate::fingerprint`]), whatever line they are on now.
//!
//! What is weaker than it was is still known; what was merely potential and is proven now is news.

use std::collections::BTreeMap;

use reweave_model::Novelty;

use crate::data::{ComparedReport, GoneFinding, Item, Report};

/// Marks the findings of a report by an earlier one, which was read from `file`.
pub fn compare(report: &mut Report, earlier: &Report, file: &str) {
    let known: BTreeMap<&str, &Item> = earlier.findings.iter().map(|item| (item.fingerprint.as_str(), item)).collect();
    for item in &mut report.findings {
        let before = known.get(item.fingerprint.as_str());
        let is_known = before.is_some_and(|before| before.is_proven() || !item.is_proven());
        item.baseline = Some(if is_known { Novelty::Known } else { Novelty::New });
    }
    let here = |fingerprint: &str| report.findings.iter().any(|item| item.fingerprint == fingerprint);
    let gone = earlier.findings.iter().filter(|item| !here(&item.fingerprint)).map(|item| GoneFinding {
        fingerprint: item.fingerprint.clone(),
        kind: item.kind,
        summary: item.summary.clone(),
    });
    report.baseline = Some(ComparedReport { file: file.to_owned(), gone: gone.collect() });
}

#[cfg(test)]
mod tests {
    use reweave_model::{Kind, Strength};

    use super::*;

    fn report(findings: &[(&str, Strength)]) -> Report {
        let item = |(fingerprint, strength): &(&str, Strength)| Item {
            fingerprint: (*fingerprint).into(),
            summary: format!("race {fingerprint}"),
            ..Item::new(Kind::Race, *strength)
        };
        Report {
            reweave: "0".into(),
            schema: crate::data::SCHEMA,
            program: Vec::new(),
            findings: findings.iter().map(item).collect(),
            stats: BTreeMap::new(),
            ..Report::default()
        }
    }

    fn states(report: &Report) -> Vec<Novelty> {
        report.findings.iter().filter_map(|item| item.baseline).collect()
    }

    #[test]
    fn new_known_and_gone() {
        let earlier = report(&[("a", Strength::Confirmed), ("b", Strength::Predicted), ("c", Strength::Potential)]);
        let mut now = report(&[("a", Strength::Predicted), ("d", Strength::Confirmed)]);
        compare(&mut now, &earlier, "old.json");
        assert_eq!(states(&now), [Novelty::Known, Novelty::New]);
        let gone: Vec<&str> =
            now.baseline.iter().flat_map(|against| &against.gone).map(|gone| gone.fingerprint.as_str()).collect();
        assert_eq!(gone, ["b", "c"]);
        assert!(now.has_findings(), "d is new");
    }

    #[test]
    fn known_findings_fail_nothing_unless_they_are_proven_now() {
        let earlier = report(&[("a", Strength::Confirmed), ("c", Strength::Potential)]);
        let mut same = report(&[("a", Strength::Confirmed)]);
        compare(&mut same, &earlier, "old.json");
        assert!(!same.has_findings());
        let mut proven = report(&[("c", Strength::Confirmed)]);
        compare(&mut proven, &earlier, "old.json");
        assert_eq!(states(&proven), [Novelty::New]);
        assert!(proven.has_findings());
    }
}
