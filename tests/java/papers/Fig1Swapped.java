/**
 * Huang, Meredith, Roşu 2014, Fig. 1 with lines 1 and 2 swapped: line 10 now always comes after line 3.
 *
 * races: none
 */
public class Fig1Swapped {
    static final Object l = new Object();
    static int x, y, z;
    static Thread t2;

    static void first() {
        synchronized (l) { // 2
            t2.start(); // 1
            x = 1; // 3
            y = 1; // 4
        }
    }

    static void second() {
        int r1;
        synchronized (l) { // 7
            r1 = y; // 8
        } // 9
        int r2 = x; // 10
        if (r1 == r2) { // 11
            z = 1; // 12
        }
    }

    public static void main(String[] args) throws InterruptedException {
        t2 = new Thread(() -> second(), "second");
        Thread t1 = new Thread(() -> first(), "first");
        t1.start();
        t1.join();
        t2.join(); // 14
        System.out.println(z != 0 ? "right" : "wrong"); // 15
    }
}
