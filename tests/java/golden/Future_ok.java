import java.util.concurrent.CompletableFuture;

/** A stage reads what the stage before it has written. */
public class Future_ok {
    static int data;

    public static void main(String[] args) {
        CompletableFuture.runAsync(() -> data = 1).thenRunAsync(() -> System.out.println(data)).join();
    }
}
