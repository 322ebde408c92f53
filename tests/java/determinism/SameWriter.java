/** The same thread writes twice; the reader sees either. */
public class SameWriter {
    static int x;
    static int seen;

    public static void main(String[] args) throws InterruptedException {
        x = 1;
        Thread reader = new Thread(() -> seen = x);
        reader.start();
        x = 2;
        reader.join();
        System.out.println(seen);
    }
}

// can differ: SameWriter.x, SameWriter.seen
// output: can differ
