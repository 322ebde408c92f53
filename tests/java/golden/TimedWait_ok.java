/** After the wait the flag is looked at again. */
public class TimedWait_ok {
    static final Object lock = new Object();
    static Integer answer;

    static void ask() {
        synchronized (lock) {
            try {
                while (answer == null) {
                    lock.wait(10);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            System.out.println(answer + 1);
        }
    }

    static void answer() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        synchronized (lock) {
            answer = 1;
            lock.notify();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(TimedWait_ok::ask, "a");
        Thread b = new Thread(TimedWait_ok::answer, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
