import java.util.concurrent.locks.ReentrantLock;

/** deadlock: two threads take two fair locks in opposite order. */
public class Fair_bad {
    static final ReentrantLock left = new ReentrantLock(true);
    static final ReentrantLock right = new ReentrantLock(true);

    static void first() {
        left.lock();
        right.lock();
        right.unlock();
        left.unlock();
    }

    static void second() {
        right.lock();
        left.lock();
        left.unlock();
        right.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fair_bad::first, "a");
        Thread b = new Thread(Fair_bad::second, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
