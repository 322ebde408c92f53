/** race: an object is handed out before its constructor is done. */
public class Leak_bad {
    static volatile Leak_bad shared;
    final int size;

    Leak_bad() {
        shared = this;
        size = 1;
    }

    static void make() {
        new Leak_bad();
    }

    static void read() {
        Leak_bad own = shared;
        if (own != null && own.size != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Leak_bad::make, "a");
        Thread b = new Thread(Leak_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
