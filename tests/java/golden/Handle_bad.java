import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** race: a plain write beside a variable handle. */
public class Handle_bad {
    static int data;
    int ready;

    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findVarHandle(Handle_bad.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static final Handle_bad shared = new Handle_bad();

    static void write() {
        data = 1;
        shared.ready = 1;
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
