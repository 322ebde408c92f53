import java.util.concurrent.Semaphore;

/** race: two permits let two threads in. */
public class Semaphore_bad {
    static final Semaphore permits = new Semaphore(2);
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
