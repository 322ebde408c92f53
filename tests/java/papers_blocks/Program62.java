/**
 * Park's thesis, Program 6.2: main takes a lock twice in a block before there is another thread. A warning of reduction
 * that is no error.
 *
 * outcome: nothing
 */
public class Program62 {
    static final Object block = new Object();
    static final Object l = new Object();
    static int value;

    static void initialize() {
        synchronized (block) {
            synchronized (l) {
                value++;
            }
            synchronized (l) {
                value++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        initialize();
        Thread other = new Thread(() -> {
            synchronized (l) {
                value++;
            }
        }, "other");
        other.start();
        other.join();
    }
}
