import java.util.concurrent.locks.StampedLock;

/** The read lock becomes a write lock, or is given back for one. */
public class Convert_ok {
    static final StampedLock lock = new StampedLock();
    static int x;

    static void add() {
        long stamp = lock.readLock();
        int seen = x;
        long write = lock.tryConvertToWriteLock(stamp);
        if (write == 0) {
            lock.unlockRead(stamp);
            write = lock.writeLock();
            seen = x;
        }
        x = seen + 1;
        lock.unlockWrite(write);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Convert_ok::add, "a");
        Thread b = new Thread(Convert_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
