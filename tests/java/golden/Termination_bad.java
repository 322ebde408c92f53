import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** race: main does not wait until the pool has ended. */
public class Termination_bad {
    static int data;

    public static void main(String[] args) {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.execute(() -> data = 1);
        pool.execute(() -> System.out.println("another task"));
        pool.shutdown();
        System.out.println(data >= 0);
    }
}
