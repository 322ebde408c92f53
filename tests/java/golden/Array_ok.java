/** Two threads write different elements. */
public class Array_ok {
    static final int[] data = new int[4];

    static void fill(int at) {
        data[at] = at;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> fill(1), "a");
        Thread b = new Thread(() -> fill(2), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
