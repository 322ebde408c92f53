/** race: two threads write the same element. */
public class Array_bad {
    static final int[] data = new int[4];

    static void fill(int at, int value) {
        data[at] = value;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> fill(1, 1), "a");
        Thread b = new Thread(() -> fill(1, 2), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
