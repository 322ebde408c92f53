/** deadlock: two threads take two monitors in opposite order. */
public class Deadlock_bad {
    static final Object first = new Object();
    static final Object second = new Object();
    static int moved;

    static void move(Object from, Object to) {
        synchronized (from) {
            synchronized (to) {
                moved++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread there = new Thread(() -> move(first, second), "there");
        Thread back = new Thread(() -> move(second, first), "back");
        there.start();
        back.start();
        there.join();
        back.join();
        System.out.println("moved " + moved);
    }
}
