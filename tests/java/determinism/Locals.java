/** Every thread counts for itself. */
public class Locals {
    static final ThreadLocal<int[]> own = ThreadLocal.withInitial(() -> new int[1]);
    static final int[] results = new int[4];

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                for (int k = 0; k <= number; k++) {
                    own.get()[0]++;
                }
                results[number] = own.get()[0];
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(results[3]);
    }
}
// proved: Locals.results[]
// output: proved
