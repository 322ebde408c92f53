/**
 * Huang, Meredith, Roşu 2014, section 4: which element line 2 writes depends on x, so it cannot meet line 7.
 *
 * races: none
 */
public class ArrayIndex {
    static final Object l = new Object();
    static final int[] a = new int[2];
    static int x;

    static void first() {
        synchronized (l) {
            a[x] = 2; // 2
        }
    }

    static void second() {
        synchronized (l) {
            x = 1; // 5
        }
        a[0] = 1; // 7
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
