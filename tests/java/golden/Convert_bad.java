import java.util.concurrent.locks.StampedLock;

/** race: the read lock did not become a write lock, which nobody looks at. */
public class Convert_bad {
    static final StampedLock lock = new StampedLock();
    static int x;

    static void add() {
        long stamp = lock.readLock();
        int seen = x;
        long write = lock.tryConvertToWriteLock(stamp);
        x = seen + 1;
        lock.unlock(write == 0 ? stamp : write);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Convert_bad::add, "a");
        Thread b = new Thread(Convert_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
