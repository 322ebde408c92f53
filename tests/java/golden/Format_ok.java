import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.TimeZone;

/** Two threads use one format, one at a time. */
public class Format_ok {
    static final SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd");

    static synchronized void print(long time) {
        System.out.println(format.format(new Date(time)));
    }

    public static void main(String[] args) throws InterruptedException {
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        Thread a = new Thread(() -> print(0), "a");
        Thread b = new Thread(() -> print(100_000_000_000L), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
