import java.util.concurrent.locks.LockSupport;

/** deadlock: who looked before the flag was set parks after it was looked at. */
public class Park_bad {
    static volatile boolean ready;
    static volatile boolean waiting;

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(() -> {
            if (!ready) {
                waiting = true;
                LockSupport.park();
            }
        }, "waiter");
        waiter.start();
        ready = true;
        if (waiting) {
            LockSupport.unpark(waiter);
        }
        waiter.join();
    }
}
