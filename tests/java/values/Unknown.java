/** Nothing is known of the values: unknown is not equal to unknown. */
public class Unknown {
    static int x = 1;

    static synchronized void add(int by) {
        x = x + by;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> add(Integer.parseInt(args[0])));
        Thread other = new Thread(() -> x = Integer.parseInt(args[1]));
        one.start();
        other.start();
        one.join();
        other.join();
    }
}

// sources: Unknown.x can differ
// paper: Unknown.x can differ
// weak sign: Unknown.x no
// weak sign by paper: Unknown.x no
