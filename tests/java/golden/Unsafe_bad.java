import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** race: plain accesses of Unsafe publish nothing. */
public class Unsafe_bad {
    static final Unsafe unsafe;
    static final long READY;
    static final Unsafe_bad shared = new Unsafe_bad();

    static {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = (Unsafe) field.get(null);
            READY = unsafe.objectFieldOffset(Unsafe_bad.class.getDeclaredField("ready"));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    int data;
    int ready;

    static void write() {
        shared.data = 1;
        unsafe.putInt(shared, READY, 1);
    }

    static void read() {
        if (unsafe.getInt(shared, READY) == 1 && shared.data != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Unsafe_bad::write, "a");
        Thread b = new Thread(Unsafe_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
