import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A function that is given to the library, which calls it as often as it likes. */
public class Factory {
    static int made;
    static int done;

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool(task -> {
            made++;
            return new Thread(task);
        });
        Future<?> one = pool.submit(() -> { });
        Future<?> two = pool.submit(() -> done = 1);
        one.get();
        two.get();
        pool.submit(() -> { }).get();
        pool.shutdown();
        System.out.println(made);
    }
}

// can differ: Factory.made
// proved: Factory.done
// output: can differ
