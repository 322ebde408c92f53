/**
 * Park's thesis, Program 6.3: whoever takes L holds the common lock. A warning of reduction that is no error.
 *
 * outcome: nothing
 */
public class Program63 {
    static final Object common = new Object();
    static final Object l = new Object();
    static int value;

    static void twice() {
        synchronized (common) {
            synchronized (l) {
                value++;
            }
            synchronized (l) {
                value++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> twice(), "one");
        Thread two = new Thread(() -> twice(), "two");
        one.start();
        two.start();
        one.join();
        two.join();
    }
}
