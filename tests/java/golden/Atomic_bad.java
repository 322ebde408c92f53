import java.util.concurrent.atomic.AtomicInteger;

/** failure: read and write are atomic, the increment is not. */
public class Atomic_bad {
    static final AtomicInteger count = new AtomicInteger();

    static void add() {
        count.set(count.get() + 1);
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
