/** A static and an instance method share the class's monitor. */
public class Locked_ok {
    static int count;

    static void addByClass() {
        synchronized (Locked_ok.class) {
            count++;
        }
    }

    void addByObject() {
        synchronized (Locked_ok.class) {
            count++;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> addByClass(), "a");
        Thread b = new Thread(() -> new Locked_ok().addByObject(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
