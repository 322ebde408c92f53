//! The queues of those who wait inside `AbstractQueuedSynchronizer`: how they are linked is its own business, and part
//! of it happens in locks that are seen as a whole, where nothing is recorded. A trace with the rest would have reads of
//! what nobody wrote. What orders threads is recorded: the state of the synchronizer, the permits by which they wake
//! each other, and of who waits for a condition whether it still does.

use crate::classfile::pool::Reference;

/// The bit of a node's status that says that its thread waits for a condition (`COND`).
pub const WAITS_FOR_CONDITION: u64 = 2;

const OUTER: [&[u8]; 2] = [
    b"java/util/concurrent/locks/AbstractQueuedSynchronizer",
    b"java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
];

/// What follows the name of the synchronizer; empty for itself.
fn part(class: &[u8]) -> Option<&[u8]> {
    OUTER.iter().find_map(|outer| class.strip_prefix(*outer))
}

/// A method that does nothing but link the queue.
pub fn only_links(class: &[u8], method: &[u8]) -> bool {
    match part(class) {
        Some(b"") => matches!(method, b"casTail" | b"tryInitializeHead"),
        Some(b"$Node") => matches!(method, b"casPrev" | b"casNext" | b"setPrevRelaxed"),
        _ => false,
    }
}

/// A field that links the queue, or the status of a node that waits for no condition.
pub fn is_link(field: &Reference<'_>) -> bool {
    match part(field.class) {
        Some(b"") => matches!(field.name, b"head" | b"tail"),
        Some(b"$ConditionNode") => matches!(field.name, b"prev" | b"next" | b"waiter"),
        Some(b"$Node" | b"$ExclusiveNode" | b"$SharedNode") => true,
        _ => false,
    }
}

/// The class of nodes: what is left of it to record is their status.
pub fn is_node(class: &str) -> bool {
    part(class.as_bytes()) == Some(b"$Node")
}

/// The status of a node that waits for a condition.
pub fn is_status(class: &str, field: &str) -> bool {
    part(class.as_bytes()) == Some(b"$ConditionNode") && field == "status"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_told_from_what_orders_threads() {
        let link = |class: &str, name: &str| {
            let class = format!("java/util/concurrent/locks/AbstractQueued{class}");
            is_link(&Reference { class: class.as_bytes(), name: name.as_bytes(), descriptor: b"" })
        };
        assert!(link("Synchronizer", "tail") && !link("Synchronizer", "state"));
        assert!(link("LongSynchronizer$Node", "status") && link("Synchronizer$ConditionNode", "prev"));
        assert!(!link("Synchronizer$ConditionNode", "status") && !link("Synchronizer$ConditionObject", "firstWaiter"));
        assert!(is_status("java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionNode", "status"));
        assert!(only_links(b"java/util/concurrent/locks/AbstractQueuedSynchronizer$Node", b"casPrev"));
        assert!(!only_links(b"java/util/concurrent/locks/AbstractQueuedSynchronizer$Node", b"getAndUnsetStatus"));
    }
}
