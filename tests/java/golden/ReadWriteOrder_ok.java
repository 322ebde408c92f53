import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The read lock is given back first. */
public class ReadWriteOrder_ok {
    static final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    static int x;

    static void add() {
        lock.readLock().lock();
        boolean first = x == 0;
        lock.readLock().unlock();
        if (first) {
            lock.writeLock().lock();
            x = 1;
            lock.writeLock().unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(ReadWriteOrder_ok::add, "a");
        Thread b = new Thread(ReadWriteOrder_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
