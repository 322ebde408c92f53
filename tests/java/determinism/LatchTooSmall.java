import java.util.concurrent.CountDownLatch;

/** The latch opens before all have counted, or one counts twice; a plain flag orders nothing. */
public class LatchTooSmall {
    static final int[] parts = new int[3];
    static final int[] twice = new int[2];
    static int prepared;
    static boolean plain;

    public static void main(String[] args) throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(2);
        for (int i = 0; i < 3; i++) {
            int number = i;
            new Thread(() -> {
                parts[number] = number + 1;
                latch.countDown();
            }).start();
        }
        latch.await();
        System.out.println(parts[0]);
        CountDownLatch both = new CountDownLatch(2);
        for (int i = 0; i < 2; i++) {
            int number = i;
            new Thread(() -> {
                twice[number] = number + 1;
                for (int k = 0; k < 2; k++) {
                    both.countDown();
                }
            }).start();
        }
        both.await();
        System.out.println(twice[0]);
        new Thread(() -> {
            prepared = 42;
            plain = true;
        }).start();
        if (plain) {
            System.out.println(prepared);
        }
    }
}
// can differ: LatchTooSmall.parts[], LatchTooSmall.twice[], LatchTooSmall.prepared
// output: can differ
