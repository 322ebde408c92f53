import java.util.concurrent.locks.LockSupport;

/** A volatile flag and a permit. */
public class Park_ok {
    static volatile boolean ready;

    static void await() {
        while (!ready) {
            LockSupport.park();
        }
    }

    static void signal(Thread waiter) {
        ready = true;
        LockSupport.unpark(waiter);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(() -> await(), "waiter");
        Thread signaller = new Thread(() -> signal(waiter), "signaller");
        waiter.start();
        signaller.start();
        waiter.join();
        signaller.join();
    }
}
