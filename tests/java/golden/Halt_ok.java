/** The machine is halted by one of two threads that share a lock. */
public class Halt_ok {
    static int count;
    static final Object lock = new Object();

    static void stop() {
        synchronized (lock) {
            count = 2;
        }
        Runtime.getRuntime().halt(0);
    }

    public static void main(String[] args) throws Exception {
        Thread stops = new Thread(Halt_ok::stop, "stops");
        stops.start();
        synchronized (lock) {
            count++;
        }
        stops.join();
    }
}
