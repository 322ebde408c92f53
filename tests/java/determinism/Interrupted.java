/** Only the thread that somebody interrupts is woken early. */
public class Interrupted {
    static int slept;
    static int calm;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> {
            try {
                Thread.sleep(5);
                slept = 1;
            } catch (InterruptedException woken) {
                Thread.currentThread().interrupt();
            }
        });
        Thread two = new Thread(() -> {
            try {
                Thread.sleep(5);
                calm = 1;
            } catch (InterruptedException woken) {
                Thread.currentThread().interrupt();
            }
        });
        one.start();
        two.start();
        one.interrupt();
        one.join();
        two.join();
        System.out.println(calm);
    }
}

// can differ: Interrupted.slept
// proved: Interrupted.calm
// output of exit status: proved
