import java.util.concurrent.locks.ReentrantReadWriteLock;

/** race: a write under the read lock. */
public class ReadWriteLock_bad {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int count;

    static void add() {
        lock.readLock().lock();
        try {
            count++;
        } finally {
            lock.readLock().unlock();
        }
    }

    static void look() {
        lock.readLock().lock();
        try {
            if (count < 0) {
                throw new AssertionError();
            }
        } finally {
            lock.readLock().unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> look(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
