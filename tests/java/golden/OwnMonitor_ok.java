/** A thread waits in its own monitor, and looks whether it still has to. */
public class OwnMonitor_ok extends Thread {
    private boolean told;

    @Override
    public synchronized void run() {
        while (!told) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    synchronized void tell() {
        told = true;
        notify();
    }

    public static void main(String[] args) throws InterruptedException {
        OwnMonitor_ok own = new OwnMonitor_ok();
        own.start();
        own.tell();
        own.join();
        System.out.println(own.isAlive());
    }
}
