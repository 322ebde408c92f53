import java.util.function.Function;
import java.util.function.Supplier;

/** Function objects are called as what they are made of. */
class Functions {
    public static void main(String[] arguments) throws InterruptedException {
        Function<Integer, Integer> twice = number -> 2 * number;
        Supplier<int[]> makes = () -> new int[1];
        int[] results = new int[2];
        Thread one = new Thread(() -> {
            int[] own = makes.get();
            own[0] = twice.apply(3);
            results[0] = own[0];
        });
        Thread other = new Thread(() -> {
            int[] own = makes.get();
            own[0] = twice.apply(4);
            results[1] = own[0];
        });
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(results[0] + results[1]);
    }
}
// output: proved
