import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Fences around plain accesses of a flag that is opaque publish. */
public class Fence_ok {
    static int data;
    static int ready;
    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findStaticVarHandle(Fence_ok.class, "ready", int.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void write() {
        data = 1;
        VarHandle.releaseFence();
        READY.setOpaque(1);
    }

    static void read() {
        if ((int) READY.getOpaque() == 1) {
            VarHandle.acquireFence();
            if (data != 1) {
                throw new AssertionError();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Fence_ok::write, "a");
        Thread b = new Thread(Fence_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
