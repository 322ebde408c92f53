import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/** failure: get and set are atomic, the increment is not. */
public class Updater_bad {
    static final AtomicIntegerFieldUpdater<Updater_bad> updater =
            AtomicIntegerFieldUpdater.newUpdater(Updater_bad.class, "count");
    static final Updater_bad object = new Updater_bad();
    volatile int count;

    static void add() {
        updater.set(object, updater.get(object) + 1);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Updater_bad::add, "a");
        Thread b = new Thread(Updater_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        if (object.count != 2) {
            throw new AssertionError("count is " + object.count);
        }
    }
}
