import java.util.concurrent.Exchanger;

/** race: a thread goes on using what it has given away. */
public class Exchanger_bad {
    static final Exchanger<int[]> exchanger = new Exchanger<>();

    static void swap() {
        int[] own = new int[1];
        try {
            int[] other = exchanger.exchange(own);
            other[0]++;
            own[0]++;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Exchanger_bad::swap, "a");
        Thread b = new Thread(Exchanger_bad::swap, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
