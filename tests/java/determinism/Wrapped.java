import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What is printed through a wrapper is what it wraps. */
class Wrapped {
    public static void main(String[] arguments) throws InterruptedException {
        List<Integer> plain = new ArrayList<>();
        List<Integer> safe = Collections.synchronizedList(plain);
        Thread other = new Thread(() -> plain.add(1));
        other.start();
        System.out.println(safe);
        other.join();
    }
}
// output: can differ
