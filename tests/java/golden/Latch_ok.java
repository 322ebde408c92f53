import java.util.concurrent.CountDownLatch;

/** A latch orders the write before the read. */
public class Latch_ok {
    static final CountDownLatch latch = new CountDownLatch(1);
    static int data;

    static void write() {
        data = 1;
        latch.countDown();
    }

    static void read() {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        if (data < 0) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> write(), "a");
        Thread b = new Thread(() -> read(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
