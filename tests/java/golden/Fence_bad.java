import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** race: without fences an opaque flag publishes nothing. */
public class Fence_bad {
    static int data;
    static int ready;
    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findStaticVarHandle(Fence_bad.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void write() {
        data = 1;
        READY.setOpaque(1);
    }

    static void read() {
        if ((int) READY.getOpaque() == 1) {
            if (data != 1) {
                throw new AssertionError();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fence_bad::write, "a");
        Thread b = new Thread(Fence_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
