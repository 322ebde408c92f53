import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Waits for the pool, but not for ever: whether the task is over is not asked; nor for a thread. */
public class PoolGivesUp {
    static int done;
    static int joined;

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        pool.execute(() -> done = 1);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        Thread thread = new Thread(() -> joined = 1);
        thread.start();
        thread.join(60000);
        System.out.println(done + " " + joined);
    }
}
// can differ: PoolGivesUp.done, PoolGivesUp.joined
// output: can differ
