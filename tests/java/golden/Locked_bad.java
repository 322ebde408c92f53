/** race: one method locks the class, the other the object. */
public class Locked_bad {
    static int count;

    static void addByClass() {
        synchronized (Locked_bad.class) {
            count++;
        }
    }

    void addByObject() {
        synchronized (this) {
            count++;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> addByClass(), "a");
        Thread b = new Thread(() -> new Locked_bad().addByObject(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
