import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** Ordered and volatile accesses of Unsafe publish. */
public class Unsafe_ok {
    static final Unsafe unsafe;
    static final long READY;
    static final Unsafe_ok shared = new Unsafe_ok();

    static {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = (Unsafe) field.get(null);
            READY = unsafe.objectFieldOffset(Unsafe_ok.class.getDeclaredField("ready"));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    int data;
    int ready;

    static void write() {
        shared.data = 1;
        unsafe.putOrderedInt(shared, READY, 1);
    }

    static void read() {
        if (unsafe.getIntVolatile(shared, READY) == 1 && shared.data != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Unsafe_ok::write, "a");
        Thread b = new Thread(Unsafe_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
