/**
 * Huang, Meredith, Roşu 2014, Fig. 2, case 2: the same reads and writes, but x is only read once y is set.
 *
 * races: none
 */
public class Fig2Wait {
    static int x, seenX, seenY;
    static volatile int y;

    static void first() {
        x = 1; // 1
        y = 1; // 2
    }

    static void second() {
        while (y == 0) { // 3
        }
        int r2 = x; // 4
        seenX = r2;
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
