import java.util.concurrent.atomic.AtomicInteger;

/** failure: an exception that nobody catches, in one of two threads. */
public class Handler_bad {
    static final AtomicInteger left = new AtomicInteger(1);

    static void take() {
        if (left.get() > 0 && left.decrementAndGet() < 0) {
            throw new IllegalStateException("taken twice");
        }
    }

    static Thread started(String name) {
        Thread thread = new Thread(Handler_bad::take, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread a = started("a");
        Thread b = started("b");
        a.join();
        b.join();
    }
}
