import java.util.concurrent.atomic.LongAdder;

/** failure: the sum is looked at before both threads have added. */
public class Adder_bad {
    static final LongAdder adder = new LongAdder();

    static void add() {
        adder.increment();
    }

    static void look() {
        adder.increment();
        if (adder.sum() != 2) {
            throw new AssertionError("sum is " + adder.sum());
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Adder_bad::add, "a");
        Thread b = new Thread(Adder_bad::look, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
