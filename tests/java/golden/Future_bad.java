import java.util.concurrent.CompletableFuture;

/** race: a stage runs beside another that writes what it reads. */
public class Future_bad {
    static int data;

    public static void main(String[] args) {
        CompletableFuture<Void> first = CompletableFuture.runAsync(() -> data = 1);
        CompletableFuture<Void> second = CompletableFuture.runAsync(() -> System.out.println(data >= 0));
        CompletableFuture.allOf(first, second).join();
    }
}
