/** A notify by whoever has the monitor. */
public class NoMonitor_ok {
    static final Object monitor = new Object();

    static void tell() {
        synchronized (monitor) {
            monitor.notifyAll();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(NoMonitor_ok::tell, "a");
        Thread b = new Thread(NoMonitor_ok::tell, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
