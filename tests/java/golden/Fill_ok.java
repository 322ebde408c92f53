import java.util.Arrays;

/** Two threads fill two halves of an array. */
public class Fill_ok {
    static final int[] numbers = new int[4];

    static void lower() {
        Arrays.fill(numbers, 0, 2, 7);
    }

    static void upper() {
        Arrays.fill(numbers, 2, 4, 8);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fill_ok::lower, "a");
        Thread b = new Thread(Fill_ok::upper, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(numbers[1] + numbers[2]);
    }
}
