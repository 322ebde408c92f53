/** race: an array is cloned while another thread fills it: the copy can hold half of it. */
public class Clone_bad {
    private static final int[] pair = new int[2];

    static void fill() {
        pair[0] = 1;
        pair[1] = 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread writer = new Thread(Clone_bad::fill, "writer");
        writer.start();
        int[] copy = pair.clone();
        writer.join();
        System.out.println(copy[0] + copy[1]);
    }
}
