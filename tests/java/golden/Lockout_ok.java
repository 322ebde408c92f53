/** A thread that waits holds no other monitor. */
public class Lockout_ok {
    static final Object outer = new Object();
    static final Object inner = new Object();
    static boolean full;

    static void take() {
        synchronized (inner) {
            while (!full) {
                try {
                    inner.wait();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }

    static void fill() {
        synchronized (outer) {
            synchronized (inner) {
                full = true;
                inner.notify();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Lockout_ok::take, "a");
        Thread b = new Thread(Lockout_ok::fill, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
