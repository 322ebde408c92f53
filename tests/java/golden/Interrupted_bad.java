/** deadlock: an interrupt that comes between two questions is lost. */
public class Interrupted_bad {
    static final Object never = new Object();

    static void run() {
        if (Thread.interrupted()) {
            return;
        }
        // Meant to begin afresh.
        Thread.interrupted();
        synchronized (never) {
            try {
                never.wait();
            } catch (InterruptedException e) {
                // It ends.
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(Interrupted_bad::run, "waiter");
        waiter.start();
        waiter.interrupt();
        waiter.join();
    }
}
