import java.util.concurrent.*;

/** Tasks of a pool of one thread run in the order in which one thread gives them; two pools keep no order. */
public class OneByOne {
    static int chained, both;

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<?> first = pool.submit(() -> { chained = 7; });
        Future<?> second = pool.submit(() -> { chained = chained * 3 + 1; });
        first.get();
        second.get();
        ExecutorService other = Executors.newSingleThreadExecutor();
        Future<?> one = pool.submit(() -> { both = 1; });
        Future<?> two = other.submit(() -> { both = 2; });
        one.get();
        two.get();
        pool.shutdown();
        other.shutdown();
        System.out.println(chained);
        System.out.println(both);
    }
}
// proved: OneByOne.chained
// can differ: OneByOne.both
