import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Everything that was submitted is over when the pool says so. */
public class PoolEnds {
    static final AtomicInteger sum = new AtomicInteger();
    static int after;

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        for (int i = 0; i < 10; i++) {
            int number = i;
            pool.execute(() -> sum.addAndGet(number));
        }
        pool.shutdown();
        while (!pool.awaitTermination(10, TimeUnit.MILLISECONDS)) {
            Thread.yield();
        }
        after = sum.get();
        System.out.println(after);
    }
}
// proved: PoolEnds.after
// output: proved
