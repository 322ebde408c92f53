import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Park's thesis, Program 6.1: removeAll of a synchronized set goes through the other set without its lock, and fails if
 * that one is changed meanwhile.
 *
 * outcome: failure
 */
public class Program61 {
    public static void main(String[] args) throws InterruptedException {
        Set<Integer> first = Collections.synchronizedSet(new TreeSet<>(List.of(1, 2, 3, 5)));
        Set<Integer> second = Collections.synchronizedSet(new TreeSet<>(List.of(2, 3)));
        Thread changes = new Thread(() -> second.add(4), "changes");
        changes.start();
        first.removeAll(second);
        changes.join();
    }
}
