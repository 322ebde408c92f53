import java.util.List;
import java.util.stream.Stream;

/** A stream's function runs when the stream is used, not where it is written. */
public class KeptStream {
    static int counted;

    public static void main(String[] args) throws InterruptedException {
        Stream<Integer> kept = List.of(1, 2, 3).stream().map(one -> one + counted);
        Thread thread = new Thread(() -> counted = 5);
        thread.start();
        int sum = kept.mapToInt(Integer::intValue).sum();
        thread.join();
        System.out.println(sum);
    }
}
// can differ: KeptStream.counted
// output: unknown
