import java.util.concurrent.atomic.LongAdder;

/** The sum is looked at after both have ended. */
public class Adder_ok {
    static final LongAdder adder = new LongAdder();

    static void add() {
        adder.increment();
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Adder_ok::add, "a");
        Thread b = new Thread(Adder_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        if (adder.sum() != 2) {
            throw new AssertionError("sum is " + adder.sum());
        }
    }
}
