import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** deadlock: one thread prints while it holds a lock, the other takes that lock while it holds the stream. */
public class Printer_bad {
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
        synchronized (OUT) {
            OUT.println(table());
        }
        other.join();
    }
}
