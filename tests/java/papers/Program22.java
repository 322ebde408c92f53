/**
 * Park's thesis, Program 2.2: two threads take two locks in opposite order.
 *
 * races: none
 * deadlocks: 13-20
 */
public class Program22 {
    static final Object l1 = new Object();
    static final Object l2 = new Object();

    static void first() {
        synchronized (l1) { // 1
            synchronized (l2) { // 2
            }
        }
    }

    static void second() {
        synchronized (l2) { // 6
            synchronized (l1) { // 7
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> first(), "first");
        Thread two = new Thread(() -> second(), "second");
        one.start();
        two.start();
        one.join();
        two.join();
    }
}
