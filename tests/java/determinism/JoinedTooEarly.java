/** A join before the start waits for nobody. */
public class JoinedTooEarly {
    static int written;

    public static void main(String[] args) throws InterruptedException {
        for (int turn = 0; turn < 3; turn++) {
            int own = turn;
            Thread thread = new Thread(() -> written = own);
            thread.join();
            thread.start();
        }
        System.out.println(written);
    }
}

// can differ: JoinedTooEarly.written
// output: can differ
