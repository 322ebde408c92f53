import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** deadlock: the signal may come before the wait, and nobody looks whether it has. */
public class Condition_bad {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition ready = lock.newCondition();

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(() -> {
            lock.lock();
            try {
                ready.awaitUninterruptibly();
            } finally {
                lock.unlock();
            }
        }, "waiter");
        waiter.start();
        lock.lock();
        try {
            ready.signal();
        } finally {
            lock.unlock();
        }
        waiter.join();
    }
}
