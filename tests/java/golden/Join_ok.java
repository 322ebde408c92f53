/** What a thread wrote is read after it was joined. */
public class Join_ok {
    static int result;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        worker.join();
        System.out.println(result);
    }
}
