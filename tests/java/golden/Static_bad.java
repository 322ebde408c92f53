/** race: a static counter without a lock. */
public class Static_bad {
    static int count;

    static void add() {
        count++;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> add(), "a");
        Thread b = new Thread(() -> add(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
