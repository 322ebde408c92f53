/** deadlock: a thread waits in its own monitor for a notify that may have come before. */
public class OwnMonitor_bad extends Thread {
    @Override
    public synchronized void run() {
        try {
            wait();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    synchronized void tell() {
        notify();
    }

    public static void main(String[] args) throws InterruptedException {
        OwnMonitor_bad own = new OwnMonitor_bad();
        own.start();
        own.tell();
        own.join();
    }
}
