/** Each thread has its own. */
public class Local_ok {
    static final ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> new int[1]);

    static void add() {
        local.get()[0]++;
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Local_ok::add, "a");
        Thread b = new Thread(Local_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
