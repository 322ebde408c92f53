import java.util.concurrent.locks.ReentrantLock;

/** A thread that did not get the lock does nothing. */
public class TryLock_ok {
    static final ReentrantLock lock = new ReentrantLock();
    static int inside;

    static void enter() {
        if (lock.tryLock()) {
            inside++;
            if (inside > 1) {
                throw new AssertionError("two inside");
            }
            inside--;
            lock.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(TryLock_ok::enter, "a");
        Thread b = new Thread(TryLock_ok::enter, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
