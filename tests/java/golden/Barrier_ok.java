import java.util.concurrent.CyclicBarrier;

/** As many threads as the barrier waits for. */
public class Barrier_ok {
    static final CyclicBarrier barrier = new CyclicBarrier(2);
    static final int[] data = new int[2];

    static void first() {
        data[0] = 1;
        await();
        System.out.println(data[1]);
    }

    static void second() {
        data[1] = 2;
        await();
        System.out.println(data[0]);
    }

    static void await() {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Barrier_ok::first, "a");
        Thread b = new Thread(Barrier_ok::second, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
