/**
 * Huang, Meredith, Roşu 2014, Fig. 2, case 1: nothing depends on what was read from y.
 *
 * races: 11-17
 */
public class Fig2Read {
    static int x, seenX, seenY;
    static volatile int y;

    static void first() {
        x = 1; // 1
        y = 1; // 2
    }

    static void second() {
        int r1 = y; // 3
        int r2 = x; // 4
        seenY = r1;
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
