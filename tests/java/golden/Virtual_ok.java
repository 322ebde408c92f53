import java.lang.reflect.InvocationTargetException;

/** Virtual threads with a lock, where there are some; else ordinary ones. */
public class Virtual_ok {
    static int count;

    static synchronized void add() {
        count++;
    }

    static Thread start(Runnable code) throws IllegalAccessException, InvocationTargetException {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, code);
        } catch (NoSuchMethodException e) {
            Thread thread = new Thread(code);
            thread.start();
            return thread;
        }
    }

    public static void main(String[] args) throws ReflectiveOperationException, InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = start(Virtual_ok::add);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (count != 4) {
            throw new AssertionError();
        }
    }
}
