import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** race: an opaque access orders nothing. */
public class Opaque_bad {
    static int data;
    int ready;

    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findVarHandle(Opaque_bad.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static final Opaque_bad shared = new Opaque_bad();

    static void write() {
        data = 1;
        READY.setOpaque(shared, 1);
    }

    static void read() {
        if ((int) READY.getOpaque(shared) == 1) {
            System.out.println(data);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Opaque_bad::write, "a");
        Thread b = new Thread(Opaque_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
