import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;

/** Exceptions that are thrown or not because of the order of threads: what comes after is done or not. */
public class Caught {
    static volatile Object shared = new Object();
    static volatile int number;
    static volatile String text = "1";
    static volatile Caught other = new Caught();
    static final int[] places = new int[1];
    static final Object[] strings = new String[1];
    static final List<Integer> list = new ArrayList<>();
    static final ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);

    static int early;
    static int afterNull;
    static int afterIndex;
    static int afterCast;
    static int afterStore;
    static int afterDivision;
    static int afterText;
    static int afterGet;
    static int afterAdd;
    static int afterDeep;
    static int inHandler;

    private void touch() {
    }

    static void change() {
        other = null;
        text = "one";
        shared = 7;
        number = 5;
        synchronized (list) {
            list.add(3);
        }
        queue.poll();
        shared = null;
    }

    static void readNull() {
        early = 1;
        try {
            shared.getClass();
            afterNull = 1;
        } catch (NullPointerException missing) {
            return;
        }
    }

    static void index() {
        try {
            places[number] = 3;
            afterIndex = 1;
        } catch (ArrayIndexOutOfBoundsException outside) {
            return;
        }
    }

    static void cast() {
        try {
            String same = (String) shared;
            afterCast = 1;
        } catch (ClassCastException wrong) {
            return;
        }
    }

    static void store() {
        try {
            strings[0] = shared;
            afterStore = 1;
        } catch (ArrayStoreException wrong) {
            return;
        }
    }

    static void divide() {
        try {
            int quotient = 10 / number;
            afterDivision = 1;
        } catch (ArithmeticException zero) {
            return;
        }
    }

    static void parse() {
        try {
            Integer.parseInt(text);
            afterText = 1;
        } catch (NumberFormatException wrong) {
            return;
        }
    }

    static void get() {
        synchronized (list) {
            try {
                list.get(0);
                afterGet = 1;
            } catch (IndexOutOfBoundsException empty) {
                return;
            }
        }
    }

    static void add() {
        try {
            queue.add(2);
            afterAdd = 1;
        } catch (IllegalStateException full) {
            return;
        }
    }

    static void deep() {
        shared.notifyAll();
        afterDeep = 1;
    }

    static void middle() {
        deep();
    }

    static void outer() {
        synchronized (Caught.class) {
            try {
                middle();
            } catch (RuntimeException somewhere) {
                return;
            }
        }
    }

    static void receive() {
        try {
            other.touch();
        } catch (NullPointerException missing) {
            inHandler = 1;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        queue.add(1);
        Thread[] all = new Thread[11];
        all[0] = new Thread(Caught::change);
        all[1] = new Thread(Caught::readNull);
        all[2] = new Thread(Caught::index);
        all[3] = new Thread(Caught::cast);
        all[4] = new Thread(Caught::store);
        all[5] = new Thread(Caught::divide);
        all[6] = new Thread(Caught::parse);
        all[7] = new Thread(Caught::get);
        all[8] = new Thread(Caught::add);
        all[9] = new Thread(Caught::outer);
        all[10] = new Thread(Caught::receive);
        for (Thread one : all) {
            one.start();
        }
        for (Thread one : all) {
            one.join();
        }
        System.out.println(early);
    }
}

// can differ: Caught.afterNull, Caught.afterIndex, Caught.afterCast, Caught.afterStore, Caught.afterDivision
// can differ: Caught.afterText, Caught.afterGet, Caught.afterAdd, Caught.afterDeep, Caught.inHandler
// proved: Caught.early
