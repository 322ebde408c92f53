import java.util.Vector;

/** Test and use under one lock. */
public class Vector_ok {
    static final Vector<Integer> vector = new Vector<>();

    static void take() {
        synchronized (vector) {
            if (!vector.isEmpty()) {
                vector.remove(vector.size() - 1);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        vector.add(1);
        Thread a = new Thread(Vector_ok::take, "a");
        Thread b = new Thread(Vector_ok::take, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
