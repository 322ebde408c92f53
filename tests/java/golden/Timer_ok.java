import java.util.Timer;
import java.util.TimerTask;

/** The task and main share a lock. */
public class Timer_ok {
    static final Object lock = new Object();
    static int ticks;

    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                synchronized (lock) {
                    ticks++;
                }
            }
        }, 10);
        Thread.sleep(20);
        synchronized (lock) {
            System.out.println(ticks >= 0);
        }
    }
}
