/** The wait ends, whenever the interrupt comes. */
public class Interrupted_ok {
    static final Object never = new Object();

    static void run() {
        if (Thread.currentThread().isInterrupted()) {
            return;
        }
        synchronized (never) {
            try {
                never.wait();
            } catch (InterruptedException e) {
                // It ends.
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(Interrupted_ok::run, "waiter");
        waiter.start();
        waiter.interrupt();
        waiter.join();
    }
}
