import java.util.ArrayList;
import java.util.List;

/** The same with a lock. */
public class List_ok {
    static final List<Integer> list = new ArrayList<>();

    static void add() {
        synchronized (list) {
            list.add(1);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(List_ok::add, "a");
        Thread b = new Thread(List_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(list.size());
    }
}
