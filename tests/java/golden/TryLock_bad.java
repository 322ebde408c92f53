import java.util.concurrent.locks.ReentrantLock;

/** failure: a thread that did not get the lock counts all the same. */
public class TryLock_bad {
    static final ReentrantLock lock = new ReentrantLock();
    static int inside;

    static void enter() {
        boolean taken = lock.tryLock();
        inside++;
        if (inside > 1) {
            throw new AssertionError("two inside");
        }
        inside--;
        if (taken) {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(TryLock_bad::enter, "a");
        Thread b = new Thread(TryLock_bad::enter, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
