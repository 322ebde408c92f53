import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

/** Two threads add to a list, by a reference to its method, one after the other. */
public class Reference_ok {
    static synchronized void give(Consumer<String> to, String name) {
        to.accept(name);
    }

    public static void main(String[] args) throws InterruptedException {
        List<String> names = new ArrayList<>();
        Consumer<String> add = names::add;
        Thread a = new Thread(() -> give(add, "a"), "a");
        Thread b = new Thread(() -> give(add, "b"), "b");
        a.start();
        b.start();
        a.join();
        b.join();
        ToIntFunction<List<String>> size = List::size;
        BiFunction<List<String>, Integer, String> get = List::get;
        if (size.applyAsInt(names) != 2 || get.apply(names, 0).isEmpty()) {
            throw new AssertionError(names);
        }
    }
}
