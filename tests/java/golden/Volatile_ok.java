/** A volatile flag publishes what was written before it. */
public class Volatile_ok {
    static int data;
    static volatile boolean ready;

    static void write() {
        data = 42;
        ready = true;
    }

    static void read() {
        if (ready && data != 42) {
            throw new AssertionError("data is " + data);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> write(), "a");
        Thread b = new Thread(() -> read(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
