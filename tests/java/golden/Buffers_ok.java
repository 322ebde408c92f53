/** Two StringBuffers are appended to a third. */
public class Buffers_ok {
    public static void main(String[] args) throws InterruptedException {
        StringBuffer first = new StringBuffer("ab");
        StringBuffer second = new StringBuffer("cd");
        StringBuffer all = new StringBuffer();
        Thread a = new Thread(() -> all.append(first));
        Thread b = new Thread(() -> all.append(second));
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
