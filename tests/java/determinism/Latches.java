import java.util.concurrent.CountDownLatch;

/** Results are read when a latch says that all have counted; written behind the count, they are not. */
public class Latches {
    static final int[] parts = new int[3];
    static int total;
    static volatile boolean ready;
    static int prepared;
    static int late;

    public static void main(String[] args) throws InterruptedException {
        int count = 3;
        CountDownLatch latch = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            int number = i;
            new Thread(() -> {
                parts[number] = number * number;
                latch.countDown();
                late = 1;
            }).start();
        }
        latch.await();
        for (int part : parts) {
            total += part;
        }
        System.out.println(total);
        new Thread(() -> {
            prepared = 42;
            ready = true;
        }).start();
        while (!ready) {
            Thread.yield();
        }
        System.out.println(prepared);
        int seen = late;
    }
}
// proved: Latches.parts[], Latches.total, Latches.prepared
// can differ: Latches.late
// output: proved
