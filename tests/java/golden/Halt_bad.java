/** race: a thread that halts the machine writes what another one writes. */
public class Halt_bad {
    static int count;
    static final Object lock = new Object();

    static void stop() {
        if (count >= 0) {
            count = 2;
        }
        Runtime.getRuntime().halt(0);
    }

    public static void main(String[] args) throws Exception {
        Thread stops = new Thread(Halt_bad::stop, "stops");
        stops.start();
        if (count >= 0) {
            count++;
        }
        stops.join();
    }
}
