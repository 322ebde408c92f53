import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Main waits until the task has ended. */
public class Scheduled_ok {
    static int ticks;

    public static void main(String[] args) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
        pool.schedule(() -> ticks++, 10, TimeUnit.MILLISECONDS);
        pool.shutdown();
        if (pool.awaitTermination(1, TimeUnit.SECONDS)) {
            System.out.println(ticks);
        }
    }
}
