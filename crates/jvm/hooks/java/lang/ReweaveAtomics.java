package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What rewritten code calls instead of {@code Unsafe}: does what was asked for, as the strongest of its kind, and records
 * it. Below variable handles, atomic classes and field updaters lies always one of these.
 */
public final class ReweaveAtomics {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Kinds of atomic accesses, as the trace has them. */
    private static final int LOAD = 0;
    private static final int STORE = 1;
    private static final int EXCHANGE = 2;
    private static final int UPDATE = 3;
    private static final int CAS_DONE = 4;
    private static final int CAS_FAILED = 5;

    private ReweaveAtomics() {}
    public static boolean unsafeGetBoolean(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean value = U.getBooleanVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value ? 1 : 0, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putBooleanVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value ? 1 : 0, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, boolean expected, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.compareAndExchangeBoolean(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, value ? 1 : 0, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static boolean unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, boolean expected, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.compareAndExchangeBoolean(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, value ? 1 : 0, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static boolean unsafeGetAndSet(Object unsafe, Object base, long offset, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.getAndSetBoolean(base, offset, value);
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, value ? 1 : 0, EXCHANGE, site);
        return old;
    }

    public static boolean unsafeGetAndOr(Object unsafe, Object base, long offset, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.getAndBitwiseOrBoolean(base, offset, value);
        boolean result = old | value;
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, result ? 1 : 0, UPDATE, site);
        return old;
    }

    public static boolean unsafeGetAndAnd(Object unsafe, Object base, long offset, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.getAndBitwiseAndBoolean(base, offset, value);
        boolean result = old & value;
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, result ? 1 : 0, UPDATE, site);
        return old;
    }

    public static boolean unsafeGetAndXor(Object unsafe, Object base, long offset, boolean value, int site) {
        ReweaveHooks.before(base, offset, site);
        boolean old = U.getAndBitwiseXorBoolean(base, offset, value);
        boolean result = old ^ value;
        ReweaveHooks.atomically(base, offset, old ? 1 : 0, result ? 1 : 0, UPDATE, site);
        return old;
    }

    public static byte unsafeGetByte(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        byte value = U.getByteVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value & 0xffL, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putByteVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value & 0xffL, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, byte expected, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.compareAndExchangeByte(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffL, value & 0xffL, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static byte unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, byte expected, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.compareAndExchangeByte(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffL, value & 0xffL, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static byte unsafeGetAndSet(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.getAndSetByte(base, offset, value);
        ReweaveHooks.atomically(base, offset, old & 0xffL, value & 0xffL, EXCHANGE, site);
        return old;
    }

    public static byte unsafeGetAndAdd(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.getAndAddByte(base, offset, value);
        byte sum = (byte) (old + value);
        ReweaveHooks.atomically(base, offset, old & 0xffL, sum & 0xffL, UPDATE, site);
        return old;
    }

    public static byte unsafeGetAndOr(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.getAndBitwiseOrByte(base, offset, value);
        byte result = (byte) (old | value);
        ReweaveHooks.atomically(base, offset, old & 0xffL, result & 0xffL, UPDATE, site);
        return old;
    }

    public static byte unsafeGetAndAnd(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.getAndBitwiseAndByte(base, offset, value);
        byte result = (byte) (old & value);
        ReweaveHooks.atomically(base, offset, old & 0xffL, result & 0xffL, UPDATE, site);
        return old;
    }

    public static byte unsafeGetAndXor(Object unsafe, Object base, long offset, byte value, int site) {
        ReweaveHooks.before(base, offset, site);
        byte old = U.getAndBitwiseXorByte(base, offset, value);
        byte result = (byte) (old ^ value);
        ReweaveHooks.atomically(base, offset, old & 0xffL, result & 0xffL, UPDATE, site);
        return old;
    }

    public static short unsafeGetShort(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        short value = U.getShortVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value & 0xffffL, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putShortVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value & 0xffffL, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, short expected, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.compareAndExchangeShort(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffffL, value & 0xffffL, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static short unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, short expected, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.compareAndExchangeShort(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffffL, value & 0xffffL, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static short unsafeGetAndSet(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.getAndSetShort(base, offset, value);
        ReweaveHooks.atomically(base, offset, old & 0xffffL, value & 0xffffL, EXCHANGE, site);
        return old;
    }

    public static short unsafeGetAndAdd(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.getAndAddShort(base, offset, value);
        short sum = (short) (old + value);
        ReweaveHooks.atomically(base, offset, old & 0xffffL, sum & 0xffffL, UPDATE, site);
        return old;
    }

    public static short unsafeGetAndOr(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.getAndBitwiseOrShort(base, offset, value);
        short result = (short) (old | value);
        ReweaveHooks.atomically(base, offset, old & 0xffffL, result & 0xffffL, UPDATE, site);
        return old;
    }

    public static short unsafeGetAndAnd(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.getAndBitwiseAndShort(base, offset, value);
        short result = (short) (old & value);
        ReweaveHooks.atomically(base, offset, old & 0xffffL, result & 0xffffL, UPDATE, site);
        return old;
    }

    public static short unsafeGetAndXor(Object unsafe, Object base, long offset, short value, int site) {
        ReweaveHooks.before(base, offset, site);
        short old = U.getAndBitwiseXorShort(base, offset, value);
        short result = (short) (old ^ value);
        ReweaveHooks.atomically(base, offset, old & 0xffffL, result & 0xffffL, UPDATE, site);
        return old;
    }

    public static char unsafeGetChar(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        char value = U.getCharVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putCharVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, char expected, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.compareAndExchangeChar(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old, value, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static char unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, char expected, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.compareAndExchangeChar(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old, value, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static char unsafeGetAndSet(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.getAndSetChar(base, offset, value);
        ReweaveHooks.atomically(base, offset, old, value, EXCHANGE, site);
        return old;
    }

    public static char unsafeGetAndAdd(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.getAndAddChar(base, offset, value);
        char sum = (char) (old + value);
        ReweaveHooks.atomically(base, offset, old, sum, UPDATE, site);
        return old;
    }

    public static char unsafeGetAndOr(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.getAndBitwiseOrChar(base, offset, value);
        char result = (char) (old | value);
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static char unsafeGetAndAnd(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.getAndBitwiseAndChar(base, offset, value);
        char result = (char) (old & value);
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static char unsafeGetAndXor(Object unsafe, Object base, long offset, char value, int site) {
        ReweaveHooks.before(base, offset, site);
        char old = U.getAndBitwiseXorChar(base, offset, value);
        char result = (char) (old ^ value);
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static int unsafeGetInt(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        int value = U.getIntVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value & 0xffffffffL, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putIntVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value & 0xffffffffL, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, int expected, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.compareAndExchangeInt(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, value & 0xffffffffL, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static int unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, int expected, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.compareAndExchangeInt(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, value & 0xffffffffL, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static int unsafeGetAndSet(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.getAndSetInt(base, offset, value);
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, value & 0xffffffffL, EXCHANGE, site);
        return old;
    }

    public static int unsafeGetAndAdd(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.getAndAddInt(base, offset, value);
        int sum = old + value;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, sum & 0xffffffffL, UPDATE, site);
        return old;
    }

    public static int unsafeGetAndOr(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.getAndBitwiseOrInt(base, offset, value);
        int result = old | value;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, result & 0xffffffffL, UPDATE, site);
        return old;
    }

    public static int unsafeGetAndAnd(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.getAndBitwiseAndInt(base, offset, value);
        int result = old & value;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, result & 0xffffffffL, UPDATE, site);
        return old;
    }

    public static int unsafeGetAndXor(Object unsafe, Object base, long offset, int value, int site) {
        ReweaveHooks.before(base, offset, site);
        int old = U.getAndBitwiseXorInt(base, offset, value);
        int result = old ^ value;
        ReweaveHooks.atomically(base, offset, old & 0xffffffffL, result & 0xffffffffL, UPDATE, site);
        return old;
    }

    public static long unsafeGetLong(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        long value = U.getLongVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, value, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putLongVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, value, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, long expected, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.compareAndExchangeLong(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old, value, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static long unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, long expected, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.compareAndExchangeLong(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, old, value, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static long unsafeGetAndSet(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.getAndSetLong(base, offset, value);
        ReweaveHooks.atomically(base, offset, old, value, EXCHANGE, site);
        return old;
    }

    public static long unsafeGetAndAdd(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.getAndAddLong(base, offset, value);
        long sum = old + value;
        ReweaveHooks.atomically(base, offset, old, sum, UPDATE, site);
        return old;
    }

    public static long unsafeGetAndOr(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.getAndBitwiseOrLong(base, offset, value);
        long result = old | value;
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static long unsafeGetAndAnd(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.getAndBitwiseAndLong(base, offset, value);
        long result = old & value;
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static long unsafeGetAndXor(Object unsafe, Object base, long offset, long value, int site) {
        ReweaveHooks.before(base, offset, site);
        long old = U.getAndBitwiseXorLong(base, offset, value);
        long result = old ^ value;
        ReweaveHooks.atomically(base, offset, old, result, UPDATE, site);
        return old;
    }

    public static float unsafeGetFloat(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        float value = U.getFloatVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, Float.floatToRawIntBits(value) & 0xffffffffL, 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, float value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putFloatVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, Float.floatToRawIntBits(value) & 0xffffffffL, STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, float expected, float value, int site) {
        ReweaveHooks.before(base, offset, site);
        float old = U.compareAndExchangeFloat(base, offset, expected, value);
        boolean done = Float.floatToRawIntBits(old) == Float.floatToRawIntBits(expected);
        ReweaveHooks.atomically(base, offset, Float.floatToRawIntBits(old) & 0xffffffffL, Float.floatToRawIntBits(value) & 0xffffffffL, done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static float unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, float expected, float value, int site) {
        ReweaveHooks.before(base, offset, site);
        float old = U.compareAndExchangeFloat(base, offset, expected, value);
        boolean done = Float.floatToRawIntBits(old) == Float.floatToRawIntBits(expected);
        ReweaveHooks.atomically(base, offset, Float.floatToRawIntBits(old) & 0xffffffffL, Float.floatToRawIntBits(value) & 0xffffffffL, done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static float unsafeGetAndSet(Object unsafe, Object base, long offset, float value, int site) {
        ReweaveHooks.before(base, offset, site);
        float old = U.getAndSetFloat(base, offset, value);
        ReweaveHooks.atomically(base, offset, Float.floatToRawIntBits(old) & 0xffffffffL, Float.floatToRawIntBits(value) & 0xffffffffL, EXCHANGE, site);
        return old;
    }

    public static float unsafeGetAndAdd(Object unsafe, Object base, long offset, float value, int site) {
        ReweaveHooks.before(base, offset, site);
        float old = U.getAndAddFloat(base, offset, value);
        float sum = old + value;
        ReweaveHooks.atomically(base, offset, Float.floatToRawIntBits(old) & 0xffffffffL, Float.floatToRawIntBits(sum) & 0xffffffffL, UPDATE, site);
        return old;
    }

    public static double unsafeGetDouble(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        double value = U.getDoubleVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, Double.doubleToRawLongBits(value), 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, double value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putDoubleVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, Double.doubleToRawLongBits(value), STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, double expected, double value, int site) {
        ReweaveHooks.before(base, offset, site);
        double old = U.compareAndExchangeDouble(base, offset, expected, value);
        boolean done = Double.doubleToRawLongBits(old) == Double.doubleToRawLongBits(expected);
        ReweaveHooks.atomically(base, offset, Double.doubleToRawLongBits(old), Double.doubleToRawLongBits(value), done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static double unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, double expected, double value, int site) {
        ReweaveHooks.before(base, offset, site);
        double old = U.compareAndExchangeDouble(base, offset, expected, value);
        boolean done = Double.doubleToRawLongBits(old) == Double.doubleToRawLongBits(expected);
        ReweaveHooks.atomically(base, offset, Double.doubleToRawLongBits(old), Double.doubleToRawLongBits(value), done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static double unsafeGetAndSet(Object unsafe, Object base, long offset, double value, int site) {
        ReweaveHooks.before(base, offset, site);
        double old = U.getAndSetDouble(base, offset, value);
        ReweaveHooks.atomically(base, offset, Double.doubleToRawLongBits(old), Double.doubleToRawLongBits(value), EXCHANGE, site);
        return old;
    }

    public static double unsafeGetAndAdd(Object unsafe, Object base, long offset, double value, int site) {
        ReweaveHooks.before(base, offset, site);
        double old = U.getAndAddDouble(base, offset, value);
        double sum = old + value;
        ReweaveHooks.atomically(base, offset, Double.doubleToRawLongBits(old), Double.doubleToRawLongBits(sum), UPDATE, site);
        return old;
    }

    public static Object unsafeGetReference(Object unsafe, Object base, long offset, int site) {
        ReweaveHooks.before(base, offset, site);
        Object value = U.getReferenceVolatile(base, offset);
        ReweaveHooks.atomically(base, offset, ReweaveHooks.value(value, 0), 0, LOAD, site);
        return value;
    }

    public static void unsafePut(Object unsafe, Object base, long offset, Object value, int site) {
        ReweaveHooks.before(base, offset, site);
        U.putReferenceVolatile(base, offset, value);
        ReweaveHooks.atomically(base, offset, 0, ReweaveHooks.value(value, 0), STORE, site);
    }

    public static boolean unsafeCompareAndSet(
            Object unsafe, Object base, long offset, Object expected, Object value, int site) {
        ReweaveHooks.before(base, offset, site);
        Object old = U.compareAndExchangeReference(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, ReweaveHooks.value(old, 0), ReweaveHooks.value(value, 0), done ? CAS_DONE : CAS_FAILED, site);
        return done;
    }

    public static Object unsafeCompareAndExchange(
            Object unsafe, Object base, long offset, Object expected, Object value, int site) {
        ReweaveHooks.before(base, offset, site);
        Object old = U.compareAndExchangeReference(base, offset, expected, value);
        boolean done = old == expected;
        ReweaveHooks.atomically(base, offset, ReweaveHooks.value(old, 0), ReweaveHooks.value(value, 0), done ? CAS_DONE : CAS_FAILED, site);
        return old;
    }

    public static Object unsafeGetAndSet(Object unsafe, Object base, long offset, Object value, int site) {
        ReweaveHooks.before(base, offset, site);
        Object old = U.getAndSetReference(base, offset, value);
        ReweaveHooks.atomically(base, offset, ReweaveHooks.value(old, 0), ReweaveHooks.value(value, 0), EXCHANGE, site);
        return old;
    }
}
