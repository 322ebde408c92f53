import java.util.concurrent.CountDownLatch;

/** race: the latch is counted down before the write. */
public class Latch_bad {
    static final CountDownLatch latch = new CountDownLatch(1);
    static int data;

    static void write() {
        latch.countDown();
        data = 1;
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
