/** An exception that nobody catches ends a thread, or does not, because of another one. */
public class ThreadDies {
    static volatile Object shared = new Object();
    static int before;
    static int after;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> shared = null);
        Thread two = new Thread(() -> {
            before = 1;
            shared.getClass();
            after = 1;
        });
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(before);
    }
}

// can differ: ThreadDies.after
// proved: ThreadDies.before
// output: can differ
// output of exit status: proved
