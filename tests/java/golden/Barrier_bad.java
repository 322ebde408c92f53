import java.util.concurrent.CyclicBarrier;

/** deadlock: the barrier waits for three threads, and there are two. */
public class Barrier_bad {
    static final CyclicBarrier barrier = new CyclicBarrier(3);

    static void await() {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Barrier_bad::await, "a");
        Thread b = new Thread(Barrier_bad::await, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
