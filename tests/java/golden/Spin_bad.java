/** deadlock: one thread takes back what the other goes round a loop for. */
public class Spin_bad {
    static volatile boolean ready;

    static void await() {
        while (!ready) {
            Thread.onSpinWait();
        }
    }

    static void announce() {
        ready = true;
        ready = false;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Spin_bad::await, "a");
        Thread b = new Thread(Spin_bad::announce, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
