/** One class needs the other, whoever comes first. */
public class Initializer_ok {
    static class Left {
        static int value = 1;

        static {
            value += Right.value;
        }
    }

    static class Right {
        static int value = 1;

        static {
            value += 2;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int[] seen = new int[2];
        Thread left = new Thread(() -> seen[0] = Left.value, "left");
        Thread right = new Thread(() -> seen[1] = Right.value, "right");
        left.start();
        right.start();
        left.join();
        right.join();
        if (seen[0] != 4 || seen[1] != 3) {
            throw new AssertionError(seen[0] + " " + seen[1]);
        }
    }
}
