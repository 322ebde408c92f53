import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** deadlock: the signal may come before the await, which then never ends. */
public class Signal_bad {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition ready = lock.newCondition();

    static void await() {
        lock.lock();
        try {
            ready.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            lock.unlock();
        }
    }

    static void signal() {
        lock.lock();
        ready.signal();
        lock.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Signal_bad::await, "a");
        Thread b = new Thread(Signal_bad::signal, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
