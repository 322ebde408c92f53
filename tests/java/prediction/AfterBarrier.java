import java.util.concurrent.CyclicBarrier;

/**
 * What comes after a wait for a condition can come in another order, too: both threads go on from the barrier.
 *
 * races: 18-18
 */
public class AfterBarrier {
    static int counter;

    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            threads[i] = new Thread(() -> {
                try {
                    barrier.await();
                    counter++;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
