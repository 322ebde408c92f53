import java.util.Arrays;

/** race: an array is filled while another thread copies it. */
public class Fill_bad {
    static final int[] numbers = new int[4];

    static void fill() {
        Arrays.fill(numbers, 7);
    }

    static void copy() {
        int[] copy = new int[4];
        System.arraycopy(numbers, 0, copy, 0, 4);
        System.out.println(copy.length);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fill_bad::fill, "a");
        Thread b = new Thread(Fill_bad::copy, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
