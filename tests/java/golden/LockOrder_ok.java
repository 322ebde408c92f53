import java.util.concurrent.locks.ReentrantLock;

/** Two threads take two ReentrantLocks in one order. */
public class LockOrder_ok {
    static final ReentrantLock first = new ReentrantLock();
    static final ReentrantLock second = new ReentrantLock();

    static void move(ReentrantLock from, ReentrantLock to) {
        from.lock();
        to.lock();
        to.unlock();
        from.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> move(first, second), "a");
        Thread b = new Thread(() -> move(first, second), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
