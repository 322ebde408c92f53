/** The thread is joined before the program ends. */
public class Hook_ok {
    static int data;

    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(data), "hook"));
        Thread a = new Thread(() -> data = 1, "a");
        a.start();
        a.join();
    }
}
