import java.util.concurrent.locks.ReentrantLock;

/** race: one thread forgets the ReentrantLock. */
public class ReentrantLock_bad {
    static final ReentrantLock lock = new ReentrantLock();
    static int count;

    static void add() {
        lock.lock();
        try {
            count++;
        } finally {
            lock.unlock();
        }
    }

    static void addToo() {
        count++;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> addToo(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
