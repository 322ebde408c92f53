/** race: a shutdown hook reads what a thread still writes. */
public class Hook_bad {
    static int data;

    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(data >= 0), "hook"));
        Thread a = new Thread(() -> data = 1, "a");
        a.setDaemon(true);
        a.start();
    }
}
