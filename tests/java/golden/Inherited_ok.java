/** Each thread inherits a copy. */
public class Inherited_ok {
    static final InheritableThreadLocal<int[]> local = new InheritableThreadLocal<>() {
        @Override
        protected int[] childValue(int[] own) {
            return own.clone();
        }
    };

    static void add() {
        local.get()[0]++;
    }

    public static void main(String[] args) throws Exception {
        local.set(new int[1]);
        Thread a = new Thread(Inherited_ok::add, "a");
        Thread b = new Thread(Inherited_ok::add, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
