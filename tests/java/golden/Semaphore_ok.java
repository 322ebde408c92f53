import java.util.concurrent.Semaphore;

/** One permit: one thread at a time. */
public class Semaphore_ok {
    static final Semaphore permits = new Semaphore(1);
    static int count;

    static void add() {
        permits.acquireUninterruptibly();
        count++;
        permits.release();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> add(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
