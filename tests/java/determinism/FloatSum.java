/** One lock, but sums of floats depend on their order. */
public class FloatSum {
    static double sum;
    static int count;
    static final Object lock = new Object();

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[3];
        for (int i = 0; i < 3; i++) {
            final double value = 0.1 * i;
            threads[i] = new Thread(() -> {
                synchronized (lock) {
                    sum += value;
                    count++;
                }
            });
            threads[i].start();
        }
        for (int i = 0; i < 3; i++) {
            threads[i].join();
        }
        System.out.println(count);
        System.out.println(sum);
    }
}

// can differ: FloatSum.sum
// proved: FloatSum.count, FloatSum.lock
// output: can differ
