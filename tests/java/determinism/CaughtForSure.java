import java.util.ArrayList;
import java.util.List;

/** Exceptions that do not depend on the order of threads, and those that surely come to one handler. */
public class CaughtForSure {
    static volatile Object shared = new Object();
    static int before;
    static int after;
    static int own;
    static int total;
    static final List<Integer> found = new ArrayList<>();

    static void look() {
        before = 1;
        try {
            shared.getClass();
        } catch (NullPointerException missing) {
            // Nothing.
        }
        // Whichever way it went.
        after = 1;
        try {
            own = new int[2][3].length / (before - 1);
        } catch (ArithmeticException zero) {
            own = 4;
        }
        synchronized (found) {
            found.add(7);
        }
        // Adding to a list of one's own never fails, whatever is in it.
        total = 2;
    }

    static void change() {
        shared = null;
        synchronized (found) {
            found.add(8);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(CaughtForSure::change);
        Thread two = new Thread(CaughtForSure::look);
        one.start();
        two.start();
        one.join();
        two.join();
        int count = 0;
        for (Integer each : found) {
            count += each > 0 ? 1 : 0;
        }
        for (int at = 0; at < found.size(); at++) {
            count += found.get(at) > 100 ? 1 : 0;
        }
        System.out.println(after + own + total);
    }
}

// can differ: CaughtForSure.shared, CaughtForSure.found contents
// proved: CaughtForSure.before, CaughtForSure.after, CaughtForSure.own, CaughtForSure.total
// output: proved
