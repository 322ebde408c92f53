package reweave;

import java.io.PrintStream;
import java.lang.reflect.Method;

/**
 * Runs one method of a JUnit 4 test, which JUnit's own main program cannot: {@code OneTest CLASS METHOD}. Everything of
 * JUnit is called by name: it is the user's, of whatever version.
 */
public final class OneTest {
    private OneTest() {}

    public static void main(String[] words) throws Exception {
        Class<?> core = Class.forName("org.junit.runner.JUnitCore");
        Class<?> request = Class.forName("org.junit.runner.Request");
        Class<?> listener = Class.forName("org.junit.runner.notification.RunListener");
        Class<?> printer = Class.forName("org.junit.internal.TextListener");
        Method choose = request.getMethod("method", Class.class, String.class);
        Object chosen = choose.invoke(null, Class.forName(words[0]), words[1]);
        Object runs = core.getConstructor().newInstance();
        Object prints = printer.getConstructor(PrintStream.class).newInstance(System.out);
        core.getMethod("addListener", listener).invoke(runs, prints);
        Object result = core.getMethod("run", request).invoke(runs, chosen);
        boolean passed = (Boolean) result.getClass().getMethod("wasSuccessful").invoke(result);
        System.exit(passed ? 0 : 1);
    }
}
