import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads in a list; what they add is in any order, how many there are is not. */
public class Collected {
    static final List<Integer> found = Collections.synchronizedList(new ArrayList<>());
    static final AtomicInteger count = new AtomicInteger();

    public static void main(String[] args) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            final int number = i;
            Thread thread = new Thread(() -> {
                found.add(number);
                count.incrementAndGet();
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(count.get());
        System.out.println(found);
    }
}

// can differ: Collected.found contents
// proved: Collected.count contents
// output: can differ
