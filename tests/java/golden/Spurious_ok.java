import java.util.ArrayDeque;

/** A wait in a loop: whoever is woken looks again. */
public class Spurious_ok {
    static final ArrayDeque<String> items = new ArrayDeque<>();

    static void take() {
        synchronized (items) {
            while (items.isEmpty()) {
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
        Thread a = new Thread(Spurious_ok::take, "a");
        Thread b = new Thread(Spurious_ok::take, "b");
        a.start();
        b.start();
        put("first");
        put("second");
        a.join();
        b.join();
    }
}
