//! Collections of the JDK, and what else of it programs guard themselves (formats of dates and numbers): which classes
//! they are, and which calls lead into them.

/// Classes that hold what a collection holds. Those that only stand before another (`HashSet`) have nothing to hook.
const HOLDING: [&[u8]; 31] = [
    b"java/util/ArrayList",
    b"java/util/AbstractList",
    b"java/util/LinkedList",
    b"java/util/HashMap",
    b"java/util/LinkedHashMap",
    b"java/util/TreeMap",
    b"java/util/ArrayDeque",
    b"java/util/PriorityQueue",
    b"java/util/IdentityHashMap",
    b"java/util/EnumMap",
    b"java/util/BitSet",
    b"java/util/Arrays",
    b"java/util/Vector",
    b"java/util/Hashtable",
    b"java/lang/AbstractStringBuilder",
    b"java/lang/StringBuilder",
    b"java/lang/StringBuffer",
    b"java/text/ChoiceFormat",
    b"java/text/DateFormat",
    b"java/text/DecimalFormat",
    b"java/text/DigitList",
    b"java/text/MessageFormat",
    b"java/text/NumberFormat",
    b"java/text/SimpleDateFormat",
    b"java/util/Calendar",
    b"java/util/GregorianCalendar",
    b"java/util/StringJoiner",
    b"java/util/StringTokenizer",
    b"java/util/WeakHashMap",
    b"java/util/regex/Matcher",
    b"sun/security/provider/DigestBase",
];

/// Classes and interfaces whose methods lead there.
const LEADING: [&[u8]; 32] = [
    b"java/lang/Iterable",
    b"java/security/MessageDigest",
    b"java/text/Format",
    b"java/util/AbstractCollection",
    b"java/util/AbstractMap",
    b"java/util/AbstractQueue",
    b"java/util/AbstractSequentialList",
    b"java/util/AbstractSet",
    b"java/util/Collection",
    b"java/util/Collections",
    b"java/util/Deque",
    b"java/util/EnumSet",
    b"java/util/Enumeration",
    b"java/util/HashSet",
    b"java/util/Iterator",
    b"java/util/LinkedHashSet",
    b"java/util/List",
    b"java/util/ListIterator",
    b"java/util/Map",
    b"java/util/NavigableMap",
    b"java/util/NavigableSet",
    b"java/util/PrimitiveIterator",
    b"java/util/Properties",
    b"java/util/Queue",
    b"java/util/SequencedCollection",
    b"java/util/SequencedMap",
    b"java/util/SequencedSet",
    b"java/util/Set",
    b"java/util/SortedMap",
    b"java/util/SortedSet",
    b"java/util/Stack",
    b"java/util/TreeSet",
];

/// Fields that two readers of a collection may both fill in, with views that do not differ.
const VIEWS: [&str; 6] = ["keySet", "values", "entrySet", "navigableKeySet", "descendingMap", "toStringCache"];

/// The class itself, without what is nested in it.
fn outermost(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'$').next().unwrap_or(name)
}

/// Whether objects of the class hold what a collection holds.
pub fn holds(name: &[u8]) -> bool {
    HOLDING.contains(&outermost(name))
}

/// Whether a call of a method of this class, as the code names it, is one to a collection.
pub fn leads_to(name: &[u8]) -> bool {
    holds(name) || LEADING.contains(&outermost(name))
}

/// Whether static methods of the class do nothing but make an object for the caller. What they look up for that (locales,
/// providers) is the JDK's own business, much, and not the same in every run.
pub fn makes_by_static_methods(name: &[u8]) -> bool {
    let makers: [&[u8]; 3] = [b"java/util/Calendar", b"java/util/GregorianCalendar", b"java/security/MessageDigest"];
    name.starts_with(b"java/text/") || makers.contains(&name)
}

/// Whether a field of such a class is no part of what the collection holds.
pub fn is_view(field: &str) -> bool {
    VIEWS.contains(&field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_classes_belong_to_what_they_are_nested_in() {
        assert!(holds(b"java/util/HashMap$Node") && leads_to(b"java/util/Map$Entry"));
        assert!(!holds(b"java/util/HashMapper") && !leads_to(b"java/util/concurrent/ConcurrentHashMap"));
    }
}
