/** Sums of bytes add up to the same in any order; the least of what is cut off, and sums cut off now and then, do not. */
public class Narrowed {
    static final Object LOCK = new Object();
    static byte sum;
    static byte least;
    static int mixed;
    static int whole;

    static void one() {
        synchronized (LOCK) {
            sum += 100;
        }
        synchronized (LOCK) {
            least = (byte) Math.min(least, -200);
        }
        synchronized (LOCK) {
            mixed = (byte) (mixed + 100);
        }
        synchronized (LOCK) {
            whole = Math.min(whole, -200);
        }
    }

    static void two() {
        synchronized (LOCK) {
            sum += 90;
        }
        synchronized (LOCK) {
            least = (byte) Math.min(least, 10);
        }
        synchronized (LOCK) {
            mixed = mixed + 100;
        }
        synchronized (LOCK) {
            whole = Math.min(whole, 10);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Narrowed::one);
        Thread second = new Thread(Narrowed::two);
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println(sum + whole);
    }
}

// proved: Narrowed.sum, Narrowed.whole
// can differ: Narrowed.least, Narrowed.mixed
// output: proved
