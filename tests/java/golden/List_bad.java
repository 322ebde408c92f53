import java.util.ArrayList;
import java.util.List;

/** race: two threads add to a list without a lock. */
public class List_bad {
    static final List<Integer> list = new ArrayList<>();

    static void add() {
        list.add(1);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(List_bad::add, "a");
        Thread b = new Thread(List_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(list.size() <= 2);
    }
}
