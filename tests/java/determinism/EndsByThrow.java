/** A thread that ends only by an exception is over all the same: what comes after its join is done. */
public class EndsByThrow {
    static int counted;
    static int written;
    static int later;

    static void counts() {
        while (true) {
            if (counted > 10) {
                throw new IllegalStateException();
            }
            counted++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread counter = new Thread(EndsByThrow::counts);
        counter.start();
        counter.join();
        later = 1;
        Thread one = new Thread(() -> written = 1);
        Thread two = new Thread(() -> written = 2);
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(written);
    }
}

// can differ: EndsByThrow.written
// proved: EndsByThrow.counted, EndsByThrow.later
// output: can differ
