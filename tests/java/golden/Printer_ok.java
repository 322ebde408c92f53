import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** One thread prints while it holds a lock, the other asks for its text before it holds the stream. */
public class Printer_ok {
    static final PrintStream OUT = new PrintStream(new ByteArrayOutputStream());
    static final Object TABLE = new Object();

    static String table() {
        synchronized (TABLE) {
            return "table";
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (TABLE) {
                OUT.println("changed");
            }
        });
        other.start();
        String text = table();
        synchronized (OUT) {
            OUT.println(text);
        }
        other.join();
    }
}
