import java.util.LinkedList;
import java.util.List;

/**
 * Park's thesis, Program 2.4: check-then-act on a list whose operations are synchronized. No race; consume is not
 * atomic, and a consumer that comes between check and act makes it fail.
 *
 * outcome: failure
 */
public class Program24 {
    static final class Buffer {
        private final List<Object> held = new LinkedList<>();

        synchronized void add(Object object) {
            held.add(object);
        }

        synchronized boolean isEmpty() {
            return held.isEmpty();
        }

        synchronized Object remove() {
            return held.isEmpty() ? null : held.remove(0);
        }
    }

    static final Buffer buffer = new Buffer();

    static void consume() {
        if (!buffer.isEmpty()) {
            Object data = buffer.remove();
            data.toString();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        buffer.add("the only one");
        Thread one = new Thread(() -> consume(), "one");
        Thread two = new Thread(() -> consume(), "two");
        one.start();
        two.start();
        one.join();
        two.join();
    }
}
