import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** deadlock: a task waits for a task that has no thread to run on. */
public class PoolWait_bad {
    static final ExecutorService pool = Executors.newFixedThreadPool(1);

    static int outer() throws Exception {
        Future<Integer> inner = pool.submit(() -> 1);
        return inner.get();
    }

    public static void main(String[] args) throws Exception {
        System.out.println(pool.submit(PoolWait_bad::outer).get());
        pool.shutdown();
    }
}
