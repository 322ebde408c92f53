import java.util.concurrent.atomic.AtomicInteger;

/** An exception that nobody catches, for which the program has said what is to be done. */
public class Handler_ok {
    static final AtomicInteger left = new AtomicInteger(1);

    static void take() {
        if (left.get() > 0 && left.decrementAndGet() < 0) {
            throw new IllegalStateException("taken twice");
        }
    }

    static Thread started(String name) {
        Thread thread = new Thread(Handler_ok::take, name);
        thread.setUncaughtExceptionHandler((own, exception) -> System.out.println("too late"));
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
