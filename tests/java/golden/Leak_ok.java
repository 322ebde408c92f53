/** An object is handed out when its constructor is done. */
public class Leak_ok {
    static volatile Leak_ok shared;
    final int size;

    Leak_ok() {
        size = 1;
    }

    static void make() {
        shared = new Leak_ok();
    }

    static void read() {
        Leak_ok own = shared;
        if (own != null && own.size != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Leak_ok::make, "a");
        Thread b = new Thread(Leak_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
