import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** race: a scheduled task writes what main reads after a while. */
public class Scheduled_bad {
    static int ticks;

    public static void main(String[] args) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
        pool.schedule(() -> ticks++, 10, TimeUnit.MILLISECONDS);
        Thread.sleep(20);
        System.out.println(ticks >= 0);
        pool.shutdown();
    }
}
