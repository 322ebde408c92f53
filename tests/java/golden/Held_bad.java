import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

/** deadlock: a task that ends early keeps its lock, for which the next task waits for ever. */
public class Held_bad {
    static final ReentrantLock lock = new ReentrantLock();
    static int count;

    static void add() {
        lock.lock();
        if (++count > 2) {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.execute(Held_bad::add);
        pool.execute(Held_bad::add);
        pool.shutdown();
    }
}
