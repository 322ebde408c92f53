import java.util.concurrent.locks.StampedLock;

/** race: an optimistic read is used without a look whether it was valid. */
public class Stamped_bad {
    static final StampedLock lock = new StampedLock();
    static int x;

    static void write() {
        long stamp = lock.writeLock();
        x = 1;
        lock.unlockWrite(stamp);
    }

    static void read() {
        lock.tryOptimisticRead();
        System.out.println(x >= 0);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Stamped_bad::write, "a");
        Thread b = new Thread(Stamped_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
