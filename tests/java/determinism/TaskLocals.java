import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Every thread has its own, but tasks share the threads of a pool. */
public class TaskLocals {
    static final ThreadLocal<int[]> own = ThreadLocal.withInitial(() -> new int[1]);

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<Integer> first = pool.submit(() -> ++own.get()[0]);
        Future<Integer> second = pool.submit(() -> ++own.get()[0]);
        System.out.println(first.get() + " " + second.get());
        pool.shutdown();
    }
}
// output: unknown
