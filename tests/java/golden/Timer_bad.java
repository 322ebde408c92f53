import java.util.Timer;
import java.util.TimerTask;

/** race: the task of a timer writes what main reads after a while. */
public class Timer_bad {
    static int ticks;

    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                ticks++;
            }
        }, 10);
        Thread.sleep(20);
        System.out.println(ticks >= 0);
    }
}
