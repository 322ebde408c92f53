import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Tasks that fail, are refused, are cancelled or take too long because of the order of threads. */
public class TaskEnds {
    static volatile int place;
    static final int[] places = new int[1];
    static int afterFailure;
    static int afterTimeout;
    static int afterRefusal;
    static int inCancelled;
    static int waited;

    static void fails() throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<?> moves = pool.submit(() -> place = 4);
        Future<?> reads = pool.submit(() -> places[place]);
        try {
            reads.get();
            afterFailure = 1;
        } catch (ExecutionException failed) {
        }
        pool.shutdown();
    }

    static void takesLong() throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        Future<Integer> slow = pool.submit(() -> {
            Thread.sleep(5);
            return 1;
        });
        try {
            slow.get(5, TimeUnit.MILLISECONDS);
            afterTimeout = 1;
        } catch (TimeoutException late) {
        }
        pool.shutdown();
    }

    static void isRefused() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1));
        try {
            pool.submit(() -> { });
            pool.submit(() -> { });
            pool.submit(() -> { });
            afterRefusal = 1;
        } catch (RejectedExecutionException full) {
        }
        pool.shutdown();
    }

    static void isCancelled() throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        Future<Integer> task = pool.submit(() -> {
            inCancelled = 1;
            return 1;
        });
        task.cancel(false);
        try {
            task.get();
        } catch (CancellationException gone) {
        }
        pool.shutdown();
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        Future<Integer> quick = pool.submit(() -> 3);
        waited = quick.get();
        pool.shutdown();
        System.out.println(waited);
        fails();
        takesLong();
        isRefused();
        isCancelled();
    }
}

// can differ: TaskEnds.afterFailure, TaskEnds.afterTimeout, TaskEnds.afterRefusal, TaskEnds.inCancelled
// proved: TaskEnds.waited
// output: can differ
