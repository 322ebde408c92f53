import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Writes under the write lock. */
public class ReadWriteLock_ok {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int count;

    static void add() {
        lock.writeLock().lock();
        try {
            count++;
        } finally {
            lock.writeLock().unlock();
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
