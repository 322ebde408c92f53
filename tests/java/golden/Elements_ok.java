import java.util.Arrays;
import java.util.List;

/** Each thread sets an element of its own. */
public class Elements_ok {
    static final List<Integer> list = Arrays.asList(0, 0);

    static void first() {
        list.set(0, 1);
    }

    static void second() {
        list.set(1, 2);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Elements_ok::first, "a");
        Thread b = new Thread(Elements_ok::second, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
