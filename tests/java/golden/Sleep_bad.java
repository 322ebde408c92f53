/** race: a sleep orders nothing. */
public class Sleep_bad {
    static int data;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> data = 1, "worker");
        worker.start();
        Thread.sleep(100);
        if (data < 0) {
            throw new AssertionError();
        }
    }
}
