import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** failure: a task fails if another comes first, and the main thread asks for its result. */
public class Tasks_bad {
    static volatile String text = "text";

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<Integer> length = pool.submit(() -> text.length());
        Future<?> forgets = pool.submit(() -> text = null);
        forgets.get();
        pool.shutdown();
        System.out.println(length.get());
    }
}
