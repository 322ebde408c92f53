import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** A grid whose points are drawn towards their neighbours, red and black in turn, two threads. Argument: rounds. */
public class OverRelaxation {
    static final int SIZE = 200;
    static final double[][] grid = new double[SIZE][SIZE];

    static void sweep(int first, int last, int colour) {
        for (int i = Math.max(1, first); i < Math.min(SIZE - 1, last); i++) {
            double[] above = grid[i - 1], row = grid[i], below = grid[i + 1];
            for (int j = 1 + (i + colour) % 2; j < SIZE - 1; j += 2) {
                row[j] = 0.3125 * (above[j] + below[j] + row[j - 1] + row[j + 1]) - 0.25 * row[j];
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                grid[i][j] = (i * 31 + j * 17) % 97;
            }
        }
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                for (int round = 0; round < 2 * rounds; round++) {
                    sweep(own * SIZE / 2, (own + 1) * SIZE / 2, round % 2);
                    try {
                        barrier.await();
                    } catch (InterruptedException | BrokenBarrierException e) {
                        return;
                    }
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(grid[SIZE / 2][SIZE / 2]);
    }
}
