import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** An exception that a task leaves to whoever asks for its result is no failure. */
public class Tasks_ok {
    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<Integer> fails = pool.submit(() -> Integer.parseInt("none"));
        pool.submit(() -> {
            throw new IllegalStateException("nobody asks");
        });
        try {
            fails.get();
            throw new AssertionError();
        } catch (ExecutionException e) {
            System.out.println(e.getCause().getClass());
        }
        pool.shutdown();
    }
}
