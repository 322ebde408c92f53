import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/** The increment is one operation. */
public class Updater_ok {
    static final AtomicIntegerFieldUpdater<Updater_ok> updater =
            AtomicIntegerFieldUpdater.newUpdater(Updater_ok.class, "count");
    static final Updater_ok object = new Updater_ok();
    volatile int count;

    static void add() {
        updater.incrementAndGet(object);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Updater_ok::add, "a");
        Thread b = new Thread(Updater_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        if (object.count != 2) {
            throw new AssertionError("count is " + object.count);
        }
    }
}
