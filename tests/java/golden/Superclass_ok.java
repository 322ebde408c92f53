/** Nobody can use the class that extends it before the other is initialized: the main thread has done that. */
public class Superclass_ok {
    static class Base {
        static final Base instance = new Derived();
    }

    static class Derived extends Base {
        static int made = 1;
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println(Base.instance != null);
        Thread base = new Thread(() -> System.out.println(Base.instance != null), "base");
        Thread derived = new Thread(() -> System.out.println(Derived.made), "derived");
        base.start();
        base.join();
        derived.start();
        derived.join();
    }
}
