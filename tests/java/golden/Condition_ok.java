import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A place for one number behind a lock, with a condition for each side; one side holds the lock twice while it waits. */
public class Condition_ok {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition filled = lock.newCondition();
    static final Condition emptied = lock.newCondition();
    static int number;

    static void put() {
        for (int i = 1; i <= 3; i++) {
            lock.lock();
            try {
                while (number != 0) {
                    emptied.awaitUninterruptibly();
                }
                number = i;
                filled.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    static void take() {
        for (int i = 1; i <= 3; i++) {
            lock.lock();
            lock.lock();
            try {
                while (number == 0) {
                    filled.awaitUninterruptibly();
                }
                if (number != i || lock.getHoldCount() != 2) {
                    throw new AssertionError("number is " + number + ", held " + lock.getHoldCount());
                }
                number = 0;
                emptied.signal();
            } finally {
                lock.unlock();
                lock.unlock();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> put(), "a");
        Thread b = new Thread(() -> take(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
