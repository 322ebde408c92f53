/** What the library keeps for the whole program is shared by threads, too. */
public class SystemProperty {
    static String found;
    static String home;

    public static void main(String[] args) throws InterruptedException {
        home = System.getenv("HOME");
        Thread one = new Thread(() -> System.setProperty("colour", "red"));
        Thread two = new Thread(() -> found = System.getProperty("colour"));
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(found);
    }
}

// can differ: SystemProperty.found
// proved: SystemProperty.home
// output: can differ
