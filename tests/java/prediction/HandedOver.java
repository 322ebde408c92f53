import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Strings and numbers are recorded as the same whoever stores them and whoever reads them.
 *
 * races: none
 */
public class HandedOver {
    static final ConcurrentLinkedQueue<Object> queue = new ConcurrentLinkedQueue<>();
    static final AtomicReference<String> last = new AtomicReference<>("none");
    static int value;

    public static void main(String[] args) throws Exception {
        Thread giver = new Thread(() -> {
            value = 7;
            last.compareAndSet("none", "some");
            queue.add(1);
            queue.add("two");
            queue.add(Boolean.TRUE);
        });
        giver.start();
        for (int taken = 0; taken < 3;) {
            taken += queue.poll() != null ? 1 : 0;
            Thread.yield();
        }
        if (!last.get().equals("some") || value != 7) {
            throw new IllegalStateException();
        }
        giver.join();
    }
}
