import java.util.concurrent.ConcurrentHashMap;

/** failure: between looking into the map and putting into it comes another thread. */
public class Map_bad {
    static final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    static void add() {
        Integer old = map.get("key");
        map.put("key", old == null ? 1 : old + 1);
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
