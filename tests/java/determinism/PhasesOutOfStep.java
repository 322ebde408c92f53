import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** Two threads meet twice, but not at the same places of the code: one reads before the other has written. */
public class PhasesOutOfStep {
    static final int[] here = new int[2];
    static int seen;

    static class Worker extends Thread {
        private final int id;
        private final CyclicBarrier barrier;

        Worker(int id, CyclicBarrier barrier) {
            this.id = id;
            this.barrier = barrier;
        }

        @Override
        public void run() {
            try {
                if (id == 0) {
                    barrier.await();
                }
                here[id] = 1;
                barrier.await();
                if (id == 0) {
                    seen = here[1];
                } else {
                    barrier.await();
                    here[1] = 2;
                }
            } catch (InterruptedException | BrokenBarrierException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Worker[] workers = new Worker[2];
        for (int i = 0; i < 2; i++) {
            workers[i] = new Worker(i, barrier);
            workers[i].start();
        }
        for (int i = 0; i < 2; i++) {
            workers[i].join();
        }
        System.out.println(seen);
    }
}
// can differ: PhasesOutOfStep.seen
