/** failure: a notify by a thread that does not have the monitor, in every run. */
public class NoMonitor_bad {
    static final Object monitor = new Object();

    static void tell() {
        monitor.notifyAll();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(NoMonitor_bad::tell, "a");
        Thread b = new Thread(NoMonitor_bad::tell, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
