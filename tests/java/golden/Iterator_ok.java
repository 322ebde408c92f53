import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Who goes through the list sees what it was. */
public class Iterator_ok {
    static final List<Integer> list = new CopyOnWriteArrayList<>(List.of(1, 2, 3));

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
