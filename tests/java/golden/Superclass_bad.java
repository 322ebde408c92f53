/** deadlock: a class needs one that extends it while another thread initializes that one. */
public class Superclass_bad {
    static class Base {
        static final Base instance = new Derived();
    }

    static class Derived extends Base {
        static int made = 1;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread base = new Thread(() -> System.out.println(Base.instance != null), "base");
        Thread derived = new Thread(() -> System.out.println(Derived.made), "derived");
        base.start();
        derived.start();
        base.join();
        derived.join();
    }
}
