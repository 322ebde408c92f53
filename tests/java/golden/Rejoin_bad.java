/** race: one thread waits for the end of another before it looks at what that left, a third does not. */
public class Rejoin_bad {
    static int result;

    static void look(Thread worker) {
        try {
            worker.join(1);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        System.out.println(result >= 0);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        Thread other = new Thread(() -> look(worker), "other");
        other.start();
        worker.join();
        worker.join();
        other.join();
    }
}
