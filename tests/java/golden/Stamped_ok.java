import java.util.concurrent.locks.StampedLock;

/** Every write and every read has the lock. */
public class Stamped_ok {
    static final StampedLock lock = new StampedLock();
    static int x;

    static void write() {
        long stamp = lock.writeLock();
        x = 1;
        lock.unlockWrite(stamp);
    }

    static void read() {
        long stamp = lock.readLock();
        System.out.println(x >= 0);
        lock.unlockRead(stamp);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Stamped_ok::write, "a");
        Thread b = new Thread(Stamped_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
