import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What was written before a release is seen behind an acquire. */
public class Opaque_ok {
    static int data;
    int ready;

    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findVarHandle(Opaque_ok.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static final Opaque_ok shared = new Opaque_ok();

    static void write() {
        data = 1;
        READY.setRelease(shared, 1);
    }

    static void read() {
        if ((int) READY.getAcquire(shared) == 1) {
            System.out.println(data);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Opaque_ok::write, "a");
        Thread b = new Thread(Opaque_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
