import java.util.stream.IntStream;

/** The stream adds up by itself. */
public class Stream_ok {
    public static void main(String[] args) {
        System.out.println(IntStream.range(0, 4).parallel().sum());
    }
}
