import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.TimeZone;

/** race: two threads use one format, which keeps the date that it is working on. */
public class Format_bad {
    static final SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd");

    static void print(long time) {
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
