import java.util.stream.IntStream;

/** race: a parallel stream adds to one sum. */
public class Stream_bad {
    static int sum;

    public static void main(String[] args) {
        IntStream.range(0, 4).parallel().forEach(i -> sum += i);
        System.out.println(sum >= 0);
    }
}
