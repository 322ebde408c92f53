import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The await looks at a flag first. */
public class Signal_ok {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition ready = lock.newCondition();
    static boolean done;

    static void await() {
        lock.lock();
        try {
            while (!done) {
                ready.await();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            lock.unlock();
        }
    }

    static void signal() {
        lock.lock();
        done = true;
        ready.signal();
        lock.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Signal_ok::await, "a");
        Thread b = new Thread(Signal_ok::signal, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
