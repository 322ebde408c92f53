import java.util.concurrent.ConcurrentHashMap;

/** One operation of the map does it all. */
public class Map_ok {
    static final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    static void add() {
        map.merge("key", 1, Integer::sum);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> add(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
        if (map.get("key") != 2) {
            throw new AssertionError("value is " + map.get("key"));
        }
    }
}
