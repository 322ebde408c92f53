import java.util.HashMap;
import java.util.Map;

/** The map is filled before the threads that read it are started. */
public class HashMap_ok {
    static final Map<String, Integer> map = new HashMap<>();

    static void get() {
        for (String key : map.keySet()) {
            System.out.println(map.get(key));
        }
    }

    public static void main(String[] args) throws Exception {
        map.put("key", 1);
        Thread a = new Thread(HashMap_ok::get, "a");
        Thread b = new Thread(HashMap_ok::get, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
