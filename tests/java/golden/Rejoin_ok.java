/** Several threads wait for the end of one, one of them twice, and then look at what it left. */
public class Rejoin_ok {
    static int result;

    static void look(Thread worker) {
        try {
            worker.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        if (worker.isAlive() || result != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        Thread other = new Thread(() -> look(worker), "other");
        other.start();
        look(worker);
        look(worker);
        other.join();
    }
}
