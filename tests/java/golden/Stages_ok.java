import java.util.concurrent.CompletableFuture;

/** Stages of many kinds. */
public class Stages_ok {
    public static void main(String[] args) {
        CompletableFuture<Integer> one = CompletableFuture.supplyAsync(() -> 1);
        CompletableFuture<Integer> two = CompletableFuture.supplyAsync(() -> 2);
        CompletableFuture<Integer> six = one.thenCombineAsync(two, Integer::sum)
                .thenCompose(sum -> CompletableFuture.supplyAsync(() -> 2 * sum));
        CompletableFuture<Integer> five = CompletableFuture.<Integer>supplyAsync(() -> {
            throw new IllegalStateException();
        }).exceptionally(e -> 5);
        CompletableFuture.allOf(six, five).join();
        if (six.join() + five.join() != 11) {
            throw new AssertionError();
        }
    }
}
