/** A thread ends the program in a monitor, while another waits for ever. */
public class Exit_ok {
    static final Object monitor = new Object();

    public static void main(String[] args) throws InterruptedException {
        Thread waits = new Thread(() -> {
            synchronized (monitor) {
                try {
                    monitor.wait();
                } catch (InterruptedException e) {
                    System.out.println("interrupted");
                }
            }
        }, "waits");
        waits.start();
        Thread ends = new Thread(() -> {
            synchronized (monitor) {
                System.exit(0);
            }
        }, "ends");
        ends.start();
        ends.join();
    }
}
