/** A thread is interrupted while it sleeps, while it waits, and while it parks. */
public class Interrupt_ok {
    public static void main(String[] args) throws InterruptedException {
        Object monitor = new Object();
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(1_000_000);
            } catch (InterruptedException e) {
                System.out.println("sleep was interrupted, " + Thread.currentThread().isInterrupted());
            }
            synchronized (monitor) {
                try {
                    monitor.wait();
                } catch (InterruptedException e) {
                    System.out.println("wait was interrupted, " + Thread.holdsLock(monitor));
                }
            }
            while (!Thread.currentThread().isInterrupted()) {
                java.util.concurrent.locks.LockSupport.park();
            }
            System.out.println("park was interrupted");
        });
        thread.start();
        while (thread.isAlive()) {
            Thread.sleep(10);
            thread.interrupt();
        }
        long start = System.nanoTime();
        Thread.sleep(3_600_000);
        System.out.println("slept for an hour: " + ((System.nanoTime() - start) / 1_000_000_000L >= 3600));
    }
}
