import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;

/** Results of tasks, of futures that are gathered, and of tasks that fork. */
public class Futures {
    static int first;
    static int second;
    static int left;
    static int forked;

    static class Count extends RecursiveTask<Integer> {
        private final int from;
        private final int to;

        Count(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Integer compute() {
            if (to - from < 4) {
                return to - from;
            }
            Count low = new Count(from, (from + to) / 2);
            low.fork();
            Count high = new Count((from + to) / 2, to);
            return high.compute() + low.join();
        }
    }

    public static void main(String[] args) throws Exception {
        CompletableFuture<Void> one = CompletableFuture.runAsync(() -> first = 1);
        CompletableFuture<Void> two = CompletableFuture.runAsync(() -> second = 2);
        CompletableFuture<Void> never = CompletableFuture.runAsync(() -> left = 3);
        CompletableFuture.allOf(one, two).join();
        System.out.println(first + second);
        int seen = left;
        forked = ForkJoinPool.commonPool().invoke(new Count(0, 64));
        System.out.println(forked);
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Callable<Integer> task = () -> 7;
        Future<Integer> result = pool.submit(task);
        System.out.println(result.get());
        pool.shutdown();
    }
}
// proved: Futures.first, Futures.second
// can differ: Futures.left
