import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A variable handle with release and acquire publishes. */
public class Handle_ok {
    static int data;
    int ready;

    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findVarHandle(Handle_ok.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static final Handle_ok shared = new Handle_ok();

    static void write() {
        data = 1;
        READY.setRelease(shared, 1);
    }

    static void read() {
        if ((int) READY.getAcquire(shared) == 1 && data != 1) {
            throw new AssertionError();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> write(), "a");
        Thread b = new Thread(() -> read(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
