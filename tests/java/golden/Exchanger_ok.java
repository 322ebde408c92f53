import java.util.concurrent.Exchanger;

/** What was given away is the other thread's alone. */
public class Exchanger_ok {
    static final Exchanger<int[]> exchanger = new Exchanger<>();

    static void swap() {
        int[] own = new int[1];
        own[0]++;
        try {
            int[] other = exchanger.exchange(own);
            other[0]++;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Exchanger_ok::swap, "a");
        Thread b = new Thread(Exchanger_ok::swap, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
