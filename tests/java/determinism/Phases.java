import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** Everybody writes its own place, waits for all others, and reads its neighbour's place; in between, one sums up. */
public class Phases {
    static int threads;
    static int rounds;
    static int[] here;
    static int[] next;
    static int sum;
    static int early;
    static CyclicBarrier barrier;

    static class Worker extends Thread {
        private final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            for (int round = 0; round < rounds; round++) {
                here[id] = here[id] + round;
                early = early + 1;
                pause();
                next[id] = here[(id + 1) % threads];
                pause();
            }
        }

        private static void pause() {
            try {
                barrier.await();
            } catch (InterruptedException | BrokenBarrierException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        threads = args.length + 3;
        rounds = 4;
        here = new int[threads];
        next = new int[threads];
        barrier = new CyclicBarrier(threads, () -> {
            for (int one : here) {
                sum += one;
            }
        });
        Worker[] workers = new Worker[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < threads; i++) {
            workers[i].join();
        }
        System.out.println(next[0] + " " + sum);
    }
}
// proved: Phases.here[], Phases.next[], Phases.sum
// can differ: Phases.early
// output: proved
