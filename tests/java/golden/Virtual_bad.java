import java.lang.reflect.InvocationTargetException;

/** race: virtual threads, where there are some; else ordinary ones. */
public class Virtual_bad {
    static int count;

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
        Thread first = start(() -> count++);
        Thread second = start(() -> count++);
        first.join();
        second.join();
        System.out.println(count > 0);
    }
}
