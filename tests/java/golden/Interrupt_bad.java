/** failure: the interrupt may come when the sleep is over. */
public class Interrupt_bad {
    static volatile boolean seen;

    public static void main(String[] args) throws InterruptedException {
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                seen = true;
            }
        }, "sleeper");
        sleeper.start();
        Thread.sleep(10);
        sleeper.interrupt();
        sleeper.join();
        if (!seen) {
            throw new AssertionError("not interrupted");
        }
    }
}
