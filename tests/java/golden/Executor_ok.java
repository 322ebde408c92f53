import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Each task has its own sum; futures bring them together. */
public class Executor_ok {
    static int sum;

    static int add(int amount) {
        return amount;
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<Integer> first = pool.submit(() -> add(1));
        Future<Integer> second = pool.submit(() -> add(2));
        int all = first.get() + second.get();
        pool.shutdown();
        System.out.println(all > 0);
    }
}
