/** race: between the test and the use another thread clears the field: an exception that nobody catches. */
public class Null_bad {
    static String name = "reweave";

    static void use() {
        if (name != null && name.length() < 0) {
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
