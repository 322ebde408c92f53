import java.util.concurrent.locks.ReentrantLock;

/** The same order in both threads. */
public class Fair_ok {
    static final ReentrantLock left = new ReentrantLock(true);
    static final ReentrantLock right = new ReentrantLock(true);

    static void both() {
        left.lock();
        right.lock();
        right.unlock();
        left.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fair_ok::both, "a");
        Thread b = new Thread(Fair_ok::both, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
