import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Locks, queues and pools of java.util.concurrent, all used as they should be. */
public class Locks_ok {
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition changed = lock.newCondition();
    static int level;
    static int sum;

    public static void main(String[] args) throws Exception {
        Semaphore permits = new Semaphore(1);
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(2);
        CountDownLatch ready = new CountDownLatch(2);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    ready.countDown();
                    ready.await();
                    for (int k = 0; k < 4; k++) {
                        if (number % 2 == 0) {
                            queue.put(k);
                        } else {
                            int got = queue.take();
                            permits.acquire();
                            sum += got;
                            permits.release();
                        }
                        lock.lock();
                        try {
                            if (number % 2 == 0) {
                                level++;
                                changed.signal();
                            } else {
                                while (level == 0) {
                                    changed.await();
                                }
                                level--;
                            }
                        } finally {
                            lock.unlock();
                        }
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<Integer> one = pool.submit(() -> 1);
        Future<Integer> two = pool.submit(() -> 2);
        int total = one.get() + two.get();
        pool.shutdown();
        System.out.println("sum " + sum + ", level " + level + ", total " + total);
    }
}
