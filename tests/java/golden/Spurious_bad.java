import java.util.ArrayDeque;

/** failure: two wait for one item, both are woken, and only one looks whether there is any. */
public class Spurious_bad {
    static final ArrayDeque<String> items = new ArrayDeque<>();

    static void take() {
        synchronized (items) {
            if (items.isEmpty()) {
                try {
                    items.wait();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            items.remove();
        }
    }

    static void put(String item) {
        synchronized (items) {
            items.add(item);
            items.notifyAll();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Spurious_bad::take, "a");
        Thread b = new Thread(Spurious_bad::take, "b");
        a.start();
        b.start();
        put("first");
        put("second");
        a.join();
        b.join();
    }
}
