/** deadlock: two StringBuffers are appended to each other. */
public class Buffers_bad {
    public static void main(String[] args) throws InterruptedException {
        StringBuffer first = new StringBuffer("ab");
        StringBuffer second = new StringBuffer("cd");
        Thread a = new Thread(() -> first.append(second));
        Thread b = new Thread(() -> second.append(first));
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
