/** A string, a class and a boxed number as locks. */
public class Boxed_ok {
    static final Long lock = 1000L;
    static int byNumber;
    static int byString;
    static int byClass;

    static void add() {
        synchronized (lock) {
            byNumber++;
        }
        synchronized ("lock") {
            byString++;
        }
        synchronized (String.class) {
            byClass++;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Boxed_ok::add, "first");
        Thread second = new Thread(Boxed_ok::add, "second");
        first.start();
        second.start();
        first.join();
        second.join();
        if (byNumber + byString + byClass != 6) {
            throw new AssertionError();
        }
    }
}
