import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** race: two threads add to a list, by a reference to its method. */
public class Reference_bad {
    public static void main(String[] args) throws InterruptedException {
        List<String> names = new ArrayList<>();
        Consumer<String> add = names::add;
        Thread a = new Thread(() -> add.accept("a"), "a");
        Thread b = new Thread(() -> add.accept("b"), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
