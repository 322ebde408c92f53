/** A sparse matrix times a vector, again and again: two threads, each with half of the rows. Argument: rounds. */
public class SparseMultiply {
    static final int SIZE = 5_000, PER_ROW = 5;
    static final int[] column = new int[SIZE * PER_ROW];
    static final double[] value = new double[SIZE * PER_ROW], vector = new double[SIZE], result = new double[SIZE];

    static void rows(int first, int last, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = first; i < last; i++) {
                double sum = 0;
                for (int k = i * PER_ROW; k < (i + 1) * PER_ROW; k++) {
                    sum += vector[column[k]] * value[k];
                }
                result[i] += sum;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        for (int k = 0; k < column.length; k++) {
            column[k] = (int) (k * 7919L % SIZE);
            value[k] = k % 13;
        }
        for (int i = 0; i < SIZE; i++) {
            vector[i] = i % 7;
        }
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            int own = t;
            threads[t] = new Thread(() -> rows(own * SIZE / 2, (own + 1) * SIZE / 2, rounds));
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(result[SIZE / 3]);
    }
}
