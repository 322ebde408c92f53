import java.util.concurrent.locks.ReentrantReadWriteLock;

/** deadlock: a thread that reads asks for the write lock. */
public class ReadWriteOrder_bad {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int x;

    static void add() {
        lock.readLock().lock();
        if (x == 0) {
            lock.writeLock().lock();
            x = 1;
            lock.writeLock().unlock();
        }
        lock.readLock().unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(ReadWriteOrder_bad::add, "a");
        Thread b = new Thread(ReadWriteOrder_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
