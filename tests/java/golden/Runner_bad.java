import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** failure: a test that a runner finds by reflection loses an update. */
public class Runner_bad {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Test {}

    public static class CounterTest {
        private int count;

        @Test
        public void counts() throws InterruptedException {
            Thread first = new Thread(() -> count++, "first");
            Thread second = new Thread(() -> count++, "second");
            first.start();
            second.start();
            first.join();
            second.join();
            if (count != 2) {
                throw new AssertionError("count is " + count);
            }
        }
    }

    public static void main(String[] args) throws ReflectiveOperationException {
        boolean failed = false;
        for (Method method : CounterTest.class.getDeclaredMethods()) {
            if (method.isAnnotationPresent(Test.class)) {
                try {
                    method.invoke(CounterTest.class.getConstructor().newInstance());
                } catch (InvocationTargetException e) {
                    e.getCause().printStackTrace();
                    failed = true;
                }
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
