import java.util.concurrent.atomic.AtomicInteger;

/** Atomic increments. */
public class Atomic_ok {
    static final AtomicInteger count = new AtomicInteger();

    static void add() {
        count.incrementAndGet();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> add(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
        if (count.get() != 2) {
            throw new AssertionError("count is " + count);
        }
    }
}
