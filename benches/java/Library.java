import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

/** Collections, streams and reflection instead of fields and arrays. Arguments: which of these, and how often. */
public class Library {
    int field = 1;

    static long collections(int rounds) {
        Map<Integer, List<Integer>> map = new HashMap<>();
        Map<Integer, Integer> shared = new ConcurrentHashMap<>();
        for (int i = 0; i < rounds; i++) {
            map.computeIfAbsent(i % 100, key -> new ArrayList<>()).add(i);
            shared.merge(i % 50, 1, Integer::sum);
        }
        long sum = 0;
        for (List<Integer> list : map.values()) {
            for (int number : list) {
                sum += number;
            }
        }
        return sum + shared.get(0);
    }

    static long streams(int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds / 1000; i++) {
            sum += IntStream.range(0, 1000).filter(number -> number % 3 == 0).mapToLong(number -> number * 2L).sum();
        }
        return sum;
    }

    static long reflection(int rounds) throws ReflectiveOperationException {
        Library object = new Library();
        Field field = Library.class.getDeclaredField("field");
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += field.getInt(object);
            field.setInt(object, i & 7);
        }
        return sum;
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        int rounds = Integer.parseInt(arguments[1]);
        System.out.println(
                switch (arguments[0]) {
                    case "collections" -> collections(rounds);
                    case "streams" -> streams(rounds);
                    default -> reflection(rounds);
                });
    }
}
