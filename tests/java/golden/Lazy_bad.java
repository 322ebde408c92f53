/** race: double-checked locking without volatile. */
public class Lazy_bad {
    static class Thing {
        int size;

        Thing() {
            size = 1;
        }
    }

    static Thing thing;

    static void use() {
        if (thing == null) {
            synchronized (Lazy_bad.class) {
                if (thing == null) {
                    thing = new Thing();
                }
            }
        }
        if (thing.size < 0) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> use(), "a");
        Thread b = new Thread(() -> use(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
