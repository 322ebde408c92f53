import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Who asks again and again whether it was interrupted, or whether an entry is there, knows what came before that.
 *
 * races: none
 */
public class Polled {
    static final ConcurrentSkipListMap<Integer, String> map = new ConcurrentSkipListMap<>();
    static int interrupted;
    static int put;

    public static void main(String[] args) throws Exception {
        Thread own = new Thread(() -> {
            while (!Thread.interrupted()) {
                Thread.yield();
            }
            interrupted++;
        });
        Thread other = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Thread.yield();
            }
            interrupted += 2;
        });
        Thread reader = new Thread(() -> {
            while (map.get(1) == null) {
                Thread.yield();
            }
            put++;
        });
        reader.start();
        own.start();
        put = 7;
        map.put(1, "one");
        interrupted = 7;
        own.interrupt();
        own.join();
        other.start();
        interrupted = 8;
        other.interrupt();
        other.join();
        reader.join();
    }
}
