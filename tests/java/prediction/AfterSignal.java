import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Who was signalled goes on after the signal, never before.
 *
 * races: none
 */
public class AfterSignal {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition ready = lock.newCondition();
    static boolean isReady;
    static int value;

    public static void main(String[] args) throws Exception {
        Thread reader = new Thread(() -> {
            lock.lock();
            try {
                while (!isReady) {
                    ready.awaitUninterruptibly();
                }
            } finally {
                lock.unlock();
            }
            if (value != 7) {
                throw new IllegalStateException();
            }
        });
        reader.start();
        while (!waits()) {
            Thread.yield();
        }
        value = 7;
        lock.lock();
        try {
            isReady = true;
            ready.signal();
        } finally {
            lock.unlock();
        }
        reader.join();
    }

    private static boolean waits() {
        lock.lock();
        try {
            return lock.hasWaiters(ready);
        } finally {
            lock.unlock();
        }
    }
}
