/**
 * As ArrayIndex, but the element does not depend on data: now the two writes can meet.
 *
 * races: 13-21
 */
public class ArrayConstant {
    static final Object l = new Object();
    static final int[] a = new int[2];
    static int x;

    static void first() {
        synchronized (l) {
            a[0] = 2; // 2
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
