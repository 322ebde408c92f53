/** race: the lock is replaced by each who has it. */
public class Boxed_bad {
    static volatile Long lock = 1000L;
    static int count;

    static void add() {
        synchronized (lock) {
            lock = lock + 1000;
            count++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Boxed_bad::add, "first");
        Thread second = new Thread(Boxed_bad::add, "second");
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println(count > 0);
    }
}
