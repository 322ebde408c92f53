/** deadlock: a thread waits in one monitor and keeps another, which the notifier needs. */
public class Lockout_bad {
    static final Object outer = new Object();
    static final Object inner = new Object();
    static boolean full;

    static void take() {
        synchronized (outer) {
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
        Thread a = new Thread(Lockout_bad::take, "a");
        Thread b = new Thread(Lockout_bad::fill, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
