/** race: threads inherit the same array. */
public class Inherited_bad {
    static final InheritableThreadLocal<int[]> local = new InheritableThreadLocal<>();

    static void add() {
        local.get()[0]++;
    }

    public static void main(String[] args) throws Exception {
        local.set(new int[1]);
        Thread a = new Thread(Inherited_bad::add, "a");
        Thread b = new Thread(Inherited_bad::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
