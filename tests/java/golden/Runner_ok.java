import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** Methods are called by reflection, by handles and through proxies. */
public class Runner_ok {
    public interface Counter {
        int count();
    }

    public static class Locked implements Counter {
        private int count;

        public synchronized int count() {
            return ++count;
        }
    }

    public static void main(String[] args) throws ReflectiveOperationException, InterruptedException {
        Counter counter = Locked.class.getConstructor().newInstance();
        Method method = Counter.class.getMethod("count");
        MethodHandle handle =
                MethodHandles.lookup().findVirtual(Counter.class, "count", MethodType.methodType(int.class));
        Counter proxy = (Counter) Proxy.newProxyInstance(Runner_ok.class.getClassLoader(),
                new Class<?>[] {Counter.class}, (self, called, arguments) -> called.invoke(counter));
        Runnable all = () -> {
            try {
                method.invoke(counter);
                int ignored = (int) handle.invokeExact(counter);
                proxy.count();
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        };
        Thread first = new Thread(all, "first");
        Thread second = new Thread(all, "second");
        first.start();
        second.start();
        first.join();
        second.join();
        if (counter.count() != 7) {
            throw new AssertionError();
        }
    }
}
