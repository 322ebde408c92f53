/** Nobody takes it back. */
public class Spin_ok {
    static volatile boolean ready;

    static void await() {
        while (!ready) {
            Thread.onSpinWait();
        }
    }

    static void announce() {
        ready = true;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Spin_ok::await, "a");
        Thread b = new Thread(Spin_ok::announce, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
