/** An array is cloned once the thread that fills it has ended. */
public class Clone_ok {
    private static final int[] pair = new int[2];

    static void fill() {
        pair[0] = 1;
        pair[1] = 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread writer = new Thread(Clone_ok::fill, "writer");
        writer.start();
        writer.join();
        int[] copy = pair.clone();
        System.out.println(copy[0] + copy[1]);
    }
}
