/** deadlock: the notify may come before the wait, which then never ends. */
public class WaitNotify_bad {
    static final Object monitor = new Object();

    static void await() {
        synchronized (monitor) {
            try {
                monitor.wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void signal() {
        synchronized (monitor) {
            monitor.notify();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> await(), "a");
        Thread b = new Thread(() -> signal(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
