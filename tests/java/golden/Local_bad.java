/** race: what a thread-local variable holds is shared. */
public class Local_bad {
    static final int[] shared = new int[1];
    static final ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> shared);

    static void add() {
        local.get()[0]++;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Local_bad::add, "a");
        Thread b = new Thread(Local_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
