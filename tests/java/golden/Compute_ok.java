import java.util.concurrent.ConcurrentHashMap;

/** Entries are computed and merged at once. */
public class Compute_ok {
    static final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    static void add() {
        for (int i = 0; i < 3; i++) {
            map.merge("merged", 1, Integer::sum);
            map.compute("computed", (key, value) -> value == null ? 1 : value + 1);
            map.computeIfAbsent("absent", key -> 7);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Compute_ok::add, "first");
        Thread second = new Thread(Compute_ok::add, "second");
        first.start();
        second.start();
        first.join();
        second.join();
        if (map.get("merged") != 6 || map.get("computed") != 6 || map.get("absent") != 7) {
            throw new AssertionError(map.toString());
        }
    }
}
