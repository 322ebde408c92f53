/** A join orders what a sleep does not. */
public class Sleep_ok {
    static int data;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> data = 1, "worker");
        worker.start();
        Thread.sleep(100);
        worker.join();
        if (data < 0) {
            throw new AssertionError();
        }
    }
}
