/** The main thread waits until the other has ended. */
public class TimedJoin_ok {
    static int result;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        worker.join(0);
        System.out.println(result >= 0);
    }
}
