import java.util.Vector;

/** failure: a vector is empty when the last element is taken. */
public class Vector_bad {
    static final Vector<Integer> vector = new Vector<>();

    static void take() {
        if (!vector.isEmpty()) {
            vector.remove(vector.size() - 1);
        }
    }

    public static void main(String[] args) throws Exception {
        vector.add(1);
        Thread a = new Thread(Vector_bad::take, "a");
        Thread b = new Thread(Vector_bad::take, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
