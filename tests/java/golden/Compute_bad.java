import java.util.concurrent.ConcurrentHashMap;

/** deadlock: entries of two maps are computed within each other, in both orders. */
public class Compute_bad {
    static final ConcurrentHashMap<String, Integer> left = new ConcurrentHashMap<>();
    static final ConcurrentHashMap<String, Integer> right = new ConcurrentHashMap<>();

    static void add(ConcurrentHashMap<String, Integer> outer, ConcurrentHashMap<String, Integer> inner) {
        outer.compute("key", (key, value) -> {
            inner.compute("key", (other, old) -> old + 1);
            return value + 1;
        });
    }

    public static void main(String[] args) throws InterruptedException {
        left.put("key", 0);
        right.put("key", 0);
        Thread first = new Thread(() -> add(left, right), "first");
        Thread second = new Thread(() -> add(right, left), "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
