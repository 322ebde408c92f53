/** race: what a thread writes is read before it is joined. */
public class Join_bad {
    static int result;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> result = 1, "worker");
        worker.start();
        int seen = result;
        worker.join();
        System.out.println(seen);
    }
}
