/** Threads fill blocks, single places, every n-th place and rows of arrays, each its own by its number. */
public class Blocks {
    static int threads;
    static int size;
    static double[] blocks;
    static int[] stripes;
    static int[][] rows;

    static class Worker extends Thread {
        private final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            for (int i = id * size; i < (id + 1) * size; i++) {
                blocks[i] = Math.sqrt(i);
            }
            for (int i = id; i < stripes.length; i += threads) {
                stripes[i] = i * i;
            }
            int[] row = rows[id];
            for (int i = 0; i < row.length; i++) {
                row[i] = id + i;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        threads = args.length + 4;
        size = 100;
        blocks = new double[threads * size];
        stripes = new int[1000];
        rows = new int[threads][10];
        Worker[] workers = new Worker[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < threads; i++) {
            workers[i].join();
        }
        double sum = 0;
        for (double one : blocks) {
            sum += one;
        }
        System.out.println(sum + " " + stripes[7] + " " + rows[1][2]);
    }
}
// proved: Blocks.blocks[], Blocks.stripes[], Blocks.rows[][]
// output: proved
