/** failure: a thread ends the program with a status that depends on who comes first. */
public class Exit_bad {
    static volatile boolean changed;

    public static void main(String[] args) throws InterruptedException {
        Thread changes = new Thread(() -> changed = true, "changes");
        Thread looks = new Thread(() -> {
            if (changed) {
                System.exit(3);
            }
        }, "looks");
        looks.start();
        changes.start();
        looks.join();
        changes.join();
    }
}
