/**
 * Park's thesis, Program 6.4: a block that draws two unique numbers. It is not atomic, and nothing visible follows:
 * every number is unique.
 *
 * outcome: torn
 */
public class Program64 {
    static final Object first = new Object();
    static final Object second = new Object();
    static long drawn;

    static synchronized long uniqueNumber() {
        return drawn++;
    }

    static void two(Object lock) {
        synchronized (lock) {
            if (uniqueNumber() == uniqueNumber()) {
                throw new AssertionError("a number twice");
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> two(first), "one");
        Thread other = new Thread(() -> two(second), "other");
        one.start();
        other.start();
        one.join();
        other.join();
    }
}
