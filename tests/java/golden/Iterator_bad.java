import java.util.ArrayList;
import java.util.List;

/** failure: a list changes while it is gone through. */
public class Iterator_bad {
    static final List<Integer> list = new ArrayList<>(List.of(1, 2, 3));

    public static void main(String[] args) throws InterruptedException {
        Thread reads = new Thread(() -> {
            int sum = 0;
            for (int number : list) {
                sum += number;
            }
            System.out.println(sum >= 6);
        }, "reads");
        Thread adds = new Thread(() -> list.add(4), "adds");
        reads.start();
        adds.start();
        reads.join();
        adds.join();
    }
}
