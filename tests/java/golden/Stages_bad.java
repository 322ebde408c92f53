import java.util.concurrent.CompletableFuture;

/** deadlock: two futures are each completed with the result of the other. */
public class Stages_bad {
    static final CompletableFuture<Integer> left = new CompletableFuture<>();
    static final CompletableFuture<Integer> right = new CompletableFuture<>();

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(() -> left.complete(right.join() + 1), "first");
        Thread second = new Thread(() -> right.complete(left.join() + 1), "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
