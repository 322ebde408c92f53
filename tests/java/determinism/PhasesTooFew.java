import java.util.concurrent.CyclicBarrier;

/** The barrier lets go before everybody is there: it orders nothing. */
public class PhasesTooFew {
    static int[] here = new int[4];
    static int[] next = new int[4];

    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread[] workers = new Thread[4];
        for (int i = 0; i < 4; i++) {
            int id = i;
            workers[i] = new Thread(() -> {
                here[id] = id;
                try {
                    barrier.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                next[id] = here[(id + 1) % 4];
            });
            workers[i].start();
        }
        for (int i = 0; i < 4; i++) {
            workers[i].join();
        }
        System.out.println(next[0]);
    }
}
// can differ: PhasesTooFew.next[], PhasesTooFew.here[]
// output: can differ
