import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** failure: a list is looked at, and then something is taken out that may be gone. */
public class SynchronizedList_bad {
    static final List<Integer> list = Collections.synchronizedList(new ArrayList<>());

    static void take() {
        if (!list.isEmpty()) {
            list.remove(0);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        list.add(1);
        Thread first = new Thread(SynchronizedList_bad::take, "first");
        Thread second = new Thread(SynchronizedList_bad::take, "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
