import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** There is a thread for both. */
public class PoolWait_ok {
    static final ExecutorService pool = Executors.newFixedThreadPool(2);

    static int outer() throws Exception {
        Future<Integer> inner = pool.submit(() -> 1);
        return inner.get();
    }

    public static void main(String[] args) throws Exception {
        System.out.println(pool.submit(PoolWait_ok::outer).get());
        pool.shutdown();
    }
}
