import java.util.stream.IntStream;

/** Parts of a parallel stream write their own places. */
public class Streams {
    static final int[] squares = new int[100];
    static long sum;
    static int last;

    public static void main(String[] args) {
        sum = IntStream.range(0, 100).parallel().mapToLong(i -> (long) i * i).sum();
        IntStream.range(0, 100).parallel().forEach(i -> last = i);
        System.out.println(sum);
    }
}
// proved: Streams.sum
// can differ: Streams.last
// output: proved
