import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.Arrays;
import java.util.function.IntSupplier;

/** Code of every shape that the rewriter treats in its own way; prints what it computes. */
public class Shapes implements Cloneable {
    boolean z;
    byte b;
    char c;
    short s;
    int i;
    long l;
    float f;
    double d;
    Object o;
    volatile int v;
    static long sl;
    static double sd;
    static int si;
    static String text;

    static final int[] TABLE = {1, 2, 3};

    Shapes() {
        this(1);
    }

    Shapes(int i) {
        super();
        this.i = i;
    }

    void fields() {
        z = true;
        b = (byte) 300;
        c = (char) -1;
        s = (short) 70000;
        i += 5;
        l = l * 3 + 1L << 40;
        f = 1.5f;
        d = Math.PI;
        o = "object";
        v++;
        sl += l;
        sd = d * 2;
        si--;
        text = o + "!";
        System.out.println(z + " " + b + " " + (int) c + " " + s + " " + i + " " + l + " " + f + " " + d + " " + o + " " + v);
        System.out.println(sl + " " + sd + " " + si + " " + text);
    }

    static void arrays(boolean flag) {
        boolean[] zs = {true, false};
        byte[] bs = new byte[3];
        char[] cs = {'a', flag ? 'b' : 'c'};
        short[] ss = new short[2];
        int[] is = {1, si, flag ? 7 : 8};
        long[] ls = {1L, 2L};
        float[] fs = {1f};
        double[] ds = new double[2];
        Object[] os = {"x", new int[] {4, 5}, null};
        int[][] grid = {{1, 2}, {3}, {}};
        zs[1] = flag;
        bs[1] = (byte) 200;
        cs[0]++;
        ss[0] -= 3;
        is[2] += is[1]++;
        ls[0] <<= 33;
        fs[0] *= 2;
        ds[1] = ls[0];
        os[2] = grid;
        grid[1][0] = grid[0][1]--;
        System.out.println(Arrays.toString(zs) + Arrays.toString(bs) + Arrays.toString(cs) + Arrays.toString(ss));
        System.out.println(Arrays.toString(is) + Arrays.toString(ls) + Arrays.toString(fs) + Arrays.toString(ds));
        System.out.println(Arrays.deepToString(os));
        try {
            is[3] = 1;
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        try {
            os = new String[1];
            os[0] = 1;
        } catch (ArrayStoreException e) {
            System.out.println(e.getMessage());
        }
        Shapes none = flag ? null : new Shapes();
        try {
            none.l = 3;
        } catch (NullPointerException e) {
            System.out.println("null, line " + e.getStackTrace()[0].getLineNumber() + " of " + e.getStackTrace().length);
        }
    }

    synchronized int nested(int depth) {
        synchronized (Shapes.class) {
            if (depth == 0) {
                throw new IllegalStateException("held " + Thread.holdsLock(this) + Thread.holdsLock(Shapes.class));
            }
            return nested(depth - 1);
        }
    }

    static synchronized long held(long x) {
        return Thread.holdsLock(Shapes.class) ? x : -x;
    }

    void monitors() {
        try {
            nested(3);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() + " " + Thread.holdsLock(this) + Thread.holdsLock(Shapes.class));
        }
        System.out.println(held(5) + " " + Thread.holdsLock(Shapes.class));
        try {
            synchronized (o == null ? this : null) {
                System.out.println("held");
            }
        } catch (NullPointerException e) {
            System.out.println("no monitor");
        }
    }

    @Override
    protected Shapes clone() throws CloneNotSupportedException {
        return (Shapes) super.clone();
    }

    /** Inner classes set fields before they call the constructor of their superclass. */
    class Inner extends Shapes {
        final int got;

        Inner(int x, boolean flag) {
            super(flag ? x + Shapes.this.v : x);
            got = super.i;
        }
    }

    static class Kept implements Serializable {
        int x = 4;

        synchronized int get() {
            return x;
        }

        protected static synchronized void nothing(String[] a, int b) {}
    }

    static class Failing {
        static int value = fail();

        static int fail() {
            throw new IllegalArgumentException("initializer");
        }
    }

    record Point(int x, long y) {}

    enum Colour { RED, GREEN }

    interface Greets {
        String GREETING = new String("hello");

        default String greet() {
            return GREETING + TABLE.length;
        }
    }

    static int lookup(int x, String name) {
        int result = 0;
        for (int k = 0; k < 3; k++) {
            switch (x + k) {
                case 1: result += 1; break;
                case 2: result += TABLE[k]; continue;
                case 1000: result += 7;
                default: result += k;
            }
        }
        return switch (name) {
            case "a" -> result;
            case "b" -> { try { yield result / (x - x); } catch (ArithmeticException e) { yield -1; } }
            default -> 99;
        };
    }

    public static void main(String[] args) throws Exception {
        Shapes shapes = new Shapes();
        shapes.fields();
        shapes.fields();
        arrays(true);
        arrays(false);
        shapes.monitors();
        Shapes copy = shapes.clone();
        copy.i = 77;
        System.out.println(shapes.i + " " + copy.i + " " + copy.getClass());
        System.out.println(shapes.new Inner(3, true).got + " " + shapes.new Inner(3, false).i);
        IntSupplier lambda = () -> shapes.i + si;
        System.out.println(lambda.getAsInt());
        System.out.println(new Point(1, 2) + " " + new Point(1, 2).equals(new Point(1, 2)) + " " + Colour.valueOf("GREEN"));
        System.out.println(new Greets() {}.greet());
        System.out.println(lookup(0, "a") + " " + lookup(1, "b") + " " + lookup(999, "c"));
        try {
            System.out.println(Failing.value);
        } catch (ExceptionInInitializerError e) {
            System.out.println(e.getCause().getMessage());
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(new Kept());
        Kept kept = (Kept) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        System.out.println(kept.get() + " " + ObjectStreamClass.lookup(Kept.class).getSerialVersionUID());
        System.out.println(Arrays.hashCode(bytes.toByteArray()));
    }
}
