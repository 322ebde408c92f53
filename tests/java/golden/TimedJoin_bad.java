/** race: the time may be up before the other thread has ended. */
public class TimedJoin_bad {
    static int result;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        worker.join(10);
        System.out.println(result >= 0);
    }
}
