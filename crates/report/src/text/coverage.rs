//! What stands behind "no findings": how much was looked at, in numbers. Nothing is said of what nobody counted.

use crate::data::Report;

pub(super) fn text(report: &Report) -> Option<String> {
    let stat = |name: &str| report.stats.get(name).copied().filter(|&number| number > 0);
    let mut parts = Vec::new();
    if let Some(events) = stat("recorded_events") {
        let threads =
            stat("recorded_threads").map_or(String::new(), |threads| format!(" of {}", many(threads, "thread")));
        parts.push(format!("{}{threads} in the recorded run", many(events, "event")));
    } else {
        parts.push(format!("{} of the trace", many(stat("events")?, "event")));
    }
    if let Some(schedules) = stat("schedules") {
        parts.push(format!("{} under other schedules", many(schedules, "run")));
    }
    if let Some(runs) = stat("explored_runs") {
        let classes = stat("explored_classes").unwrap_or(0);
        let all = match (stat("explored_all"), stat("explored_weak_orders")) {
            (None, _) => "not all there are",
            (Some(_), None) => "all of them",
            (Some(_), Some(_)) => "all that schedules make; weaker memory orders allow more",
        };
        // None were told apart: what runs did was not followed to its end.
        parts.push(match classes {
            0 => format!("{} of exploration", many(runs, "run")),
            1 => format!("1 class of executions ({all}) explored in {}", many(runs, "run")),
            _ => format!("{classes} classes of executions ({all}) explored in {}", many(runs, "run")),
        });
    }
    Some(parts.join(", "))
}

fn many(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_said_and_nothing_else() {
        let of = |numbers: &[(&str, u64)]| {
            let stats = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
            text(&Report { stats, ..Report::default() })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("events", 7)]).as_deref(), Some("7 events of the trace"));
        let all = [("events", 90), ("recorded_events", 29), ("recorded_threads", 3), ("schedules", 1)];
        assert_eq!(
            of(&all).as_deref(),
            Some("29 events of 3 threads in the recorded run, 1 run under other schedules")
        );
        let explored = [("recorded_events", 1), ("explored_runs", 5), ("explored_classes", 3), ("explored_all", 1)];
        let told = "1 event in the recorded run, 3 classes of executions (all of them) explored in 5 runs";
        assert_eq!(of(&explored).as_deref(), Some(told));
        let unknown = [("recorded_events", 1), ("explored_runs", 5)];
        assert_eq!(of(&unknown).as_deref(), Some("1 event in the recorded run, 5 runs of exploration"));
    }
}
