/** Both methods are synchronized. */
public class Monitor_ok {
    static class Counter {
        private int count;

        synchronized void add() {
            count++;
        }

        synchronized int get() {
            return count;
        }
    }

    static final Counter counter = new Counter();

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> counter.add(), "a");
        Thread b = new Thread(() -> counter.get(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
