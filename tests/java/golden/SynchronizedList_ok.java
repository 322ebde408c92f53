import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A list is looked at and something taken out in one piece. */
public class SynchronizedList_ok {
    static final List<Integer> list = Collections.synchronizedList(new ArrayList<>());

    static void take() {
        synchronized (list) {
            if (!list.isEmpty()) {
                list.remove(0);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        list.add(1);
        Thread first = new Thread(SynchronizedList_ok::take, "first");
        Thread second = new Thread(SynchronizedList_ok::take, "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
