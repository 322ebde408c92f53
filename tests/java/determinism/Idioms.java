import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Plain ways to wait for threads and to gather what they did: nothing differs. */
public class Idioms {
    static class Part extends Thread {
        final int low;
        final int high;
        long sum;

        Part(int low, int high) {
            this.low = low;
            this.high = high;
        }

        @Override
        public void run() {
            long own = 0;
            for (int i = low; i < high; i++) {
                own += i;
            }
            sum = own;
        }
    }

    static class Task implements Runnable {
        private final int in;
        private int out;

        Task(int in) {
            this.in = in;
        }

        @Override
        public void run() {
            out = in * 2;
        }
    }

    private int counted;

    synchronized void count() {
        counted++;
    }

    synchronized int get() {
        return counted;
    }

    public static void main(String[] args) throws InterruptedException {
        Part[] parts = new Part[4];
        for (int i = 0; i < 4; i++) {
            parts[i] = new Part(i * 100, (i + 1) * 100);
            parts[i].start();
        }
        long sum = 0;
        for (int i = 0; i < 4; i++) {
            parts[i].join();
            sum += parts[i].sum;
        }
        List<Task> tasks = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Task task = new Task(i);
            tasks.add(task);
            Thread thread = new Thread(task);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Task task : tasks) {
            sum += task.out;
        }
        Idioms shared = new Idioms();
        Thread[] counters = new Thread[3];
        for (int i = 0; i < 3; i++) {
            counters[i] = new Thread(shared::count);
            counters[i].start();
        }
        for (Thread counter : counters) {
            counter.join();
        }
        List<String> names = IntStream.range(0, 50).boxed().parallel().map(i -> "v" + i).collect(Collectors.toList());
        System.out.println(sum + shared.get() + names.get(3));
    }
}

// proved: Idioms.Part.sum, Idioms.Task.out, Idioms.counted
// output: proved
