/**
 * Park's thesis, Program 5.2: the second thread passes l1 once before it takes both; a careless scheduler thrashes there.
 *
 * races: none
 * deadlocks: 13-22
 */
public class Program52 {
    static final Object l1 = new Object();
    static final Object l2 = new Object();

    static void first() {
        synchronized (l1) { // 2
            synchronized (l2) { // 3
            }
        }
    }

    static void second() {
        synchronized (l1) { // 9
        }
        synchronized (l2) { // 12
            synchronized (l1) { // 13
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
