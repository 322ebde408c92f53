import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Prints what the JDK draws by lot. */
public class Lots {
    public static void main(String[] args) {
        System.out.println(Set.of("a", "b", "c", "d", "e", "f", "g", "h"));
        System.out.println(Map.of("a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6));
        System.out.println(Set.of(1, 2));
        System.out.println(ThreadLocalRandom.current().nextLong());
    }
}
