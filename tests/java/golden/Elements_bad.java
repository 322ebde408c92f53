import java.util.Arrays;
import java.util.List;

/** race: two threads set the same element of a list. */
public class Elements_bad {
    static final List<Integer> list = Arrays.asList(0, 0);

    static void first() {
        list.set(1, 1);
    }

    static void second() {
        list.set(1, 2);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Elements_bad::first, "a");
        Thread b = new Thread(Elements_bad::second, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
