import java.util.concurrent.CyclicBarrier;

/** Phases whose threads handle all exceptions in one place: whoever gets there never comes back to the barrier. */
class PhasesThatFail {
    static final int SIZE = 8;
    static final int THREADS = 4;
    static final double[][] OLD = new double[SIZE][SIZE];
    static final double[][] NEW = new double[SIZE][SIZE];
    static final CyclicBarrier BARRIER = new CyclicBarrier(THREADS);

    static class Worker extends Thread {
        private final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            try {
                int from = id * (SIZE / THREADS);
                int to = (id + 1) * (SIZE / THREADS);
                for (int round = 0; round < 10; round++) {
                    for (int i = Math.max(1, from); i < Math.min(SIZE - 1, to); i++) {
                        for (int j = 1; j < SIZE - 1; j++) {
                            NEW[i][j] = 0.25 * (OLD[i - 1][j] + OLD[i + 1][j] + OLD[i][j - 1] + OLD[i][j + 1]);
                        }
                    }
                    BARRIER.await();
                    for (int i = Math.max(1, from); i < Math.min(SIZE - 1, to); i++) {
                        for (int j = 1; j < SIZE - 1; j++) {
                            OLD[i][j] = NEW[i][j];
                        }
                    }
                    BARRIER.await();
                }
            } catch (Exception problem) {
                throw new RuntimeException(problem);
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Worker[] workers = new Worker[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < THREADS; i++) {
            workers[i].join();
        }
        double sum = 0;
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                sum += OLD[i][j];
            }
        }
        System.out.println(sum);
    }
}
// proved: PhasesThatFail.OLD[][], PhasesThatFail.NEW[][]
