import java.util.HashMap;
import java.util.Map;

/** race: a map is read while another thread puts into it. */
public class HashMap_bad {
    static final Map<String, Integer> map = new HashMap<>();

    static void put() {
        map.put("key", 1);
    }

    static void get() {
        Integer value = map.get("key");
        System.out.println(value == null || value == 1);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(HashMap_bad::put, "a");
        Thread b = new Thread(HashMap_bad::get, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
