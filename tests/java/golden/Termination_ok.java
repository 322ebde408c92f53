import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Main waits until the pool has ended, for longer than that takes. */
public class Termination_ok {
    static int data;

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.execute(() -> data = 1);
        pool.execute(() -> System.out.println("another task"));
        pool.shutdown();
        if (!pool.awaitTermination(5, TimeUnit.SECONDS)) {
            throw new AssertionError("the pool has not ended");
        }
        System.out.println(data);
    }
}
