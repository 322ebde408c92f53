/** The field is read once. */
public class Null_ok {
    static volatile String name = "reweave";

    static void use() {
        String own = name;
        if (own != null && own.length() < 0) {
            throw new AssertionError();
        }
    }

    static void clear() {
        name = null;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> use(), "a");
        Thread b = new Thread(() -> clear(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
