import java.text.DateFormat;
import java.text.NumberFormat;
import java.util.Date;
import java.util.Locale;

/** Threads look up formats of their own, all for the first time. */
public class Locales_ok {
    static final Locale[] LOCALES = {Locale.GERMANY, Locale.FRANCE, Locale.JAPAN};

    static synchronized void check(int length) {
        if (length == 0) {
            throw new AssertionError("nothing");
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[LOCALES.length];
        for (int i = 0; i < threads.length; i++) {
            Locale own = LOCALES[i];
            threads[i] = new Thread(() -> {
                check(NumberFormat.getCurrencyInstance(own).format(1234.5).length());
                check(DateFormat.getDateInstance(DateFormat.FULL, own).format(new Date(0)).length());
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
