package java.lang;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.ReentrantLock;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What rewritten code calls. Accesses are recorded here, with records written straight into the chunk that the conductor
 * owns; everything else goes to the agent.
 *
 * Rules: a hook does not throw, allocate, load a class or take a lock. It checks first and stores after: between the check
 * that this thread holds the token and the last store there is neither a call nor a loop, so the machine does not stop
 * the thread there and nobody else can have got the token.
 *
 * The agent defines this class before the first rewritten class is loaded. Its bytes are kept beside this file, so that
 * building needs no JDK; a test compares them with what javac makes of it:
 * {@code javac --patch-module java.base=. -g:none -d . java/lang/ReweaveHooks.java}, JDK 17.
 */
public final class ReweaveHooks {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** The thread that holds the token, if its accesses are recorded: set by the agent whenever that changes. */
    private static Thread holder;
    /** The thread that holds the token, while nothing of it is recorded (it loads a class, say). */
    private static Thread quiet;

    /** Words of the agent, laid out as its {@code Hot}: addresses of what the conductor owns. */
    private static final long HOT = hot();
    /** Where the holder's words are; they change with the holder. */
    private static final long BUDGET_AT = HOT;
    private static final long SHOWN_AT = HOT + 8;
    private static final long WANTED_AT = HOT + 16;
    /** Where the next record goes, from where on the chunk is full, and what the launcher sees of it. */
    private static final long CURSOR = U.getLong(HOT + 24);
    private static final long LIMIT = U.getLong(HOT + 32);
    private static final long VISIBLE = U.getLong(HOT + 40);
    /** Sixteen bytes for each site: see the agent's {@code Site}. */
    private static final long SITES = U.getLong(HOT + 48);
    /** Addresses of objects that have no field for it, by identity hash. */
    private static final long BY_HASH = U.getLong(HOT + 56);
    /** Where objects of a class hold their address, by the word that names their class: 0 not known, negative nowhere. */
    private static final long BY_CLASS = U.getLong(HOT + 64);

    /** The address that the next object gets. */
    private static final long NEXT = HOT + 72;
    /** Whether threads stop before accesses instead of after the last one of their slice. */
    private static final boolean ANNOUNCES = U.getLong(HOT + 80) != 0;
    /** Where the holder has the stack of its last call to a collection. */
    private static final long COLLECTION_AT = HOT + 88;
    /** Room for every object that is no array: fields lie at twice their real offset, so references have eight bytes. */
    private static final long OBJECT_SIZE = 4096;

    /** Where references to strings and boxed values seem to lead. */
    private static final long STRINGS = 0x0a0000000000L;
    private static final long NUMBERS = 0x0b0000000000L;

    /** Where a lock and a condition have what they are made of, and that has its queue. */
    private static final long SYNC = U.objectFieldOffset(ReentrantLock.class, "sync");
    private static final long HEAD = U.objectFieldOffset(AbstractQueuedSynchronizer.class, "head");
    private static final long TAIL = U.objectFieldOffset(AbstractQueuedSynchronizer.class, "tail");
    private static final long OUTER =
            U.objectFieldOffset(AbstractQueuedSynchronizer.ConditionObject.class, "this$0");

    /** Kinds of records (the low byte of their first word), as the trace has them. */
    private static final int STACK = 2;
    private static final int READ = 4;
    private static final int WRITE = 5;
    /** Added to the kind within collections; alone as long as nothing else is known of a place. */
    private static final int COLLECTION = 0x80;

    /** Where the word that names an object's class lies in the object. */
    private static final long CLASS_WORD = 8;

    private ReweaveHooks() {}

    private static native long hot();

    /** This thread does not hold the token: waits for it. False if nothing of this thread is recorded. */
    private static native boolean arrive();

    /** Records an access that needs more than three words here: the thread is named, or the chunk is full. */
    private static native void access(long head, long address, long value);

    /** Records an access within a collection, where the program has called that. */
    private static native void accessWithin(long head, long address, long value);

    /** An access to a volatile field, or one that is atomic. */
    private static native void atomic(int site, long address, long read, long written, int kind);

    /** The slice is used up by the access that was just made: others may come. */
    private static native void stepped();

    /** Others may come, if the slice is used up. */
    private static native void point();

    /** The first access at a site: fills in its entry. */
    private static native void resolve(Object object, int site);

    /** The address of an object that has none yet; also learns what to do with its class. {@code first}: nothing has
     * happened yet that is still to be recorded, so others may come before. */
    private static native long name(Object object, int classWord, int site, boolean first);

    /** The stack that a call leads to. */
    private static native int call(int stack, int site);

    private static native void enterMonitor(long address, int site);

    /** Gives back a monitor, however often it was taken; how often that was. 0: nobody has to be asked for it. */
    private static native int giveBackMonitor(Object object, long address);

    private static native void takeMonitor(Object object, int times);

    private static native void exitMonitor(long address, int site);

    /** {@code sync}: the hash of what the lock is made of; {@code queued}: it is to be taken really first. Nothing is
     * recorded from here to {@code leaveLock}. Whether it was newly taken in the model and may have to wait really. */
    private static native boolean enterLock(long address, int sync, int site, boolean queued);

    private static native void leaveLock(long address, int site, boolean done);

    /** A wait for a condition: 0 is about to give its lock up, 1 has, 2 is about to take it back, 3 has. */
    private static native void conditionWait(int sync, int site, int phase);

    private static native void initializer(int site, boolean begins);

    /** Initializes a class if that has not happened yet. */
    private static native void useClass(int site);

    /** {@code last}: others may come after it. */
    private static native void range(Object array, int from, int length, int site, boolean write, boolean last);

    private static native void stopBefore(Object object, long address, int index, int site);

    private static native void stopBeforeAtomic(Object base, long address, long offset, int site);

    private static native Class<?> classAt(int site);

    /** The program fails with this exception. */
    private static native void fails(Throwable exception);

    /** This thread knows that another has ended, if it has. Returns whether it has not. */
    private static native boolean sawEnd(Object thread, int site);

    /** A thread is about to be interrupted, or asked whether it was: others may come first. */
    private static native void beforeInterrupt();

    /** Whether a thread was interrupted; {@code clears}: it no longer is. */
    private static native void sawInterruption(Object thread, boolean interrupted, boolean clears, int site);

    private static native void fence(int site);

    /** Where a static field lies. */
    private static native long staticAddress(Class<?> declaring, String name);

    /** An access by reflection. {@code phase}: 0 and 1 for a read and a write that come next, 2 and 3 for those done. */
    private static native void reflected(
            long address, long value, int size, int site, int phase, boolean isVolatile);

    private static native void atomicAt(Object base, long offset, int site, long read, long written, int kind);

    /** Whether accesses of this thread are recorded now; waits for the token if need be. */
    @ForceInline
    private static boolean recorded() {
        return Thread.currentThread() == holder || mayArrive();
    }

    private static boolean mayArrive() {
        return Thread.currentThread() != quiet && arrive();
    }

    /** Writes the record of a plain access and counts it. */
    @ForceInline
    private static void record(long head, long address, long value) {
        if (!recorded()) {
            return;
        }
        long budgetAt = U.getLong(BUDGET_AT);
        long shownAt = U.getLong(SHOWN_AT);
        long wanted = U.getLong(U.getLong(WANTED_AT));
        long shown = U.getLong(shownAt);
        int budget = U.getInt(budgetAt);
        long cursor = U.getLong(CURSOR);
        if (budget == 0 || cursor >= U.getLong(LIMIT) || (shown ^ wanted) >>> 32 != 0) {
            access(head, address, value);
            return;
        }
        if (Thread.currentThread() != holder) {
            return;
        }
        long start = cursor;
        if (shown != wanted) {
            U.putLong(cursor, STACK | wanted << 32 >>> 16);
            U.putLong(shownAt, wanted);
            cursor += 8;
        }
        U.putLong(cursor, head);
        U.putLong(cursor + 8, address);
        U.putLong(cursor + 16, value);
        cursor += 24;
        U.putLong(CURSOR, cursor);
        U.putLong(VISIBLE, U.getLong(VISIBLE) + (cursor - start));
        U.putInt(budgetAt, budget - 1);
        if (budget == 1) {
            stepped();
        }
    }

    /** Whether that is the first word of a place within a collection. */
    @ForceInline
    private static boolean isWithin(long head) {
        return (head & 0xf0) == COLLECTION && head > 0;
    }

    /** Whether the program itself has called the collection that this thread is in: since then it has made no other
     * call. What the JDK does with collections of its own is its own business. */
    private static boolean isCalled() {
        if (!recorded()) {
            return false;
        }
        int called = U.getInt(U.getLong(COLLECTION_AT));
        return called != 0 && called == U.getInt(U.getLong(WANTED_AT));
    }

    /** Whether what happens at a place with that first word is to be recorded now. */
    @ForceInline
    private static boolean counts(long head) {
        return head >= 0 && (isWithin(head) ? isCalled() : recorded());
    }

    /** An atomic access by way of {@code Unsafe}; memory outside of objects is nobody's here. */
    static void atomically(Object base, long offset, long read, long written, int kind, int site) {
        if (base != null && recorded()) {
            atomicAt(base, offset, site, read, written, kind);
        }
    }

    /** The address of an object, 0 for null. */
    @ForceInline
    static long address(Object object) {
        return object == null ? 0 : addressOf(object, 0);
    }

    static long addressOf(Object object, int site) {
        long address = known(object);
        return address != 0 ? address : recorded() ? name(object, U.getInt(object, CLASS_WORD), site, false) : 0;
    }

    /** The address of an object if it has one, else 0. */
    @ForceInline
    static long known(Object object) {
        int offset = U.getInt(BY_CLASS + ((U.getInt(object, CLASS_WORD) & 0xffffffffL) << 2));
        return offset > 0 ? U.getLong(object, offset)
                : offset < 0 ? U.getLong(BY_HASH + ((long) System.identityHashCode(object) << 3)) : 0;
    }

    /** The address of an object that nothing has been done with yet. */
    private static long addressFirst(Object object, int site) {
        long address = known(object);
        return address != 0 ? address : name(object, U.getInt(object, CLASS_WORD), site, true);
    }

    /** Objects get their addresses in the same order whether or not the access was announced: what holds a reference
     * comes before what it refers to. */
    @ForceInline
    private static long reference(Object holder, Object value, int site) {
        if (value == null) {
            return 0;
        }
        if (value instanceof String || value instanceof Number || value instanceof Boolean) {
            return content(value);
        }
        long address = known(value);
        return address != 0 ? address : newReference(holder, value, site);
    }

    /** Strings and boxed values are told apart by what is in them: which object it is depends on who came first. */
    private static long content(Object value) {
        if (value instanceof String) {
            return STRINGS + (value.hashCode() & 0xffffffffL);
        }
        if (value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
            return NUMBERS + (((Number) value).longValue() & 0xffffffffffL);
        }
        if (value instanceof Boolean) {
            return NUMBERS + ((Boolean) value ? 1 : 0);
        }
        if (value instanceof Double || value instanceof Float) {
            return NUMBERS + (Double.doubleToRawLongBits(((Number) value).doubleValue()) >>> 24);
        }
        return addressOf(value, 0);
    }

    /** A reference as it is recorded. */
    static long value(Object value, int site) {
        return value == null ? 0
                : value instanceof String || value instanceof Number || value instanceof Boolean ? content(value)
                : addressOf(value, site);
    }

    /** What an element of an array of objects holds. */
    static long element(Object array, int index, int site) {
        return value(((Object[]) array)[index], site);
    }

    private static long newReference(Object holder, Object value, int site) {
        long head = U.getLong(SITES + ((long) site << 4));
        if (!counts(head)) {
            return 0;
        }
        if (head == 0 || head == COLLECTION) {
            resolve(holder, site);
        }
        if (U.getLong(SITES + ((long) site << 4)) < 0) {
            return 0;
        }
        if (holder != null) {
            addressOf(holder, site);
        }
        return address(value);
    }

    /** An access to a field of an object, which lies where the site's entry says. */
    @ForceInline
    private static void field(Object object, long value, int site) {
        long entry = SITES + ((long) site << 4);
        long head = U.getLong(entry);
        int kind = (int) head & 0xff;
        if (kind != READ && kind != WRITE) {
            unusual(object, value, site);
            return;
        }
        record(head, addressOf(object, site) + U.getInt(entry + 12), value);
    }

    private static void unusual(Object object, long value, int site) {
        long entry = SITES + ((long) site << 4);
        if (!counts(U.getLong(entry))) {
            return;
        }
        if (U.getLong(entry) == 0 || U.getLong(entry) == COLLECTION) {
            resolve(object, site);
            if (U.getLong(entry) < 0) {
                return;
            }
        }
        long head = U.getLong(entry);
        int kind = (int) head & 0xff;
        long address = object != null ? addressOf(object, site) + U.getInt(entry + 12) : U.getLong(entry + 8);
        if (kind == READ || kind == WRITE) {
            record(head, address, value);
        } else if (isWithin(head)) {
            accessWithin(head ^ COLLECTION, address, value);
        } else if (head > 0) {
            // Volatile. Accesses to final fields have a negative entry: nobody can see them change.
            boolean write = (head >>> 8 & 1) != 0;
            atomic(site, address, write ? 0 : value, write ? value : 0, write ? 1 : 0);
        }
    }

    /** An access to a static field. */
    @ForceInline
    private static void global(long value, int site) {
        long entry = SITES + ((long) site << 4);
        long head = U.getLong(entry);
        int kind = (int) head & 0xff;
        if (kind != READ && kind != WRITE) {
            unusual(null, value, site);
            return;
        }
        record(head, U.getLong(entry + 8), value);
    }

    /** An access to an element of an array. */
    @ForceInline
    private static void element(Object array, int index, int size, long value, int site) {
        long head = U.getLong(SITES + ((long) site << 4));
        if (isWithin(head)) {
            elementWithin(array, index, size, value, site);
            return;
        }
        long address = U.getLong(BY_HASH + ((long) System.identityHashCode(array) << 3));
        if (address == 0) {
            if (!recorded()) {
                return;
            }
            address = name(array, U.getInt(array, CLASS_WORD), site, false);
        }
        record(head, address + (long) index * size, value);
    }

    private static void elementWithin(Object array, int index, int size, long value, int site) {
        if (isCalled()) {
            long address = addressOf(array, site) + (long) index * size;
            accessWithin(U.getLong(SITES + ((long) site << 4)) ^ COLLECTION, address, value);
        }
    }

    public static void readField(Object object, boolean value, int site) {
        field(object, value ? 1 : 0, site);
    }

    public static void wroteField(Object object, boolean value, int site) {
        field(object, value ? 1 : 0, site);
    }

    public static void readStatic(boolean value, int site) {
        global(value ? 1 : 0, site);
    }

    public static void wroteStatic(boolean value, int site) {
        global(value ? 1 : 0, site);
    }

    public static void readField(Object object, byte value, int site) {
        field(object, value & 0xffL, site);
    }

    public static void wroteField(Object object, byte value, int site) {
        field(object, value & 0xffL, site);
    }

    public static void readStatic(byte value, int site) {
        global(value & 0xffL, site);
    }

    public static void wroteStatic(byte value, int site) {
        global(value & 0xffL, site);
    }

    public static void readElement(Object array, int index, byte value, int site) {
        element(array, index, 1, value & 0xffL, site);
    }

    public static void wroteElement(Object array, int index, byte value, int site) {
        element(array, index, 1, value & 0xffL, site);
    }

    public static void readField(Object object, short value, int site) {
        field(object, value & 0xffffL, site);
    }

    public static void wroteField(Object object, short value, int site) {
        field(object, value & 0xffffL, site);
    }

    public static void readStatic(short value, int site) {
        global(value & 0xffffL, site);
    }

    public static void wroteStatic(short value, int site) {
        global(value & 0xffffL, site);
    }

    public static void readElement(Object array, int index, short value, int site) {
        element(array, index, 2, value & 0xffffL, site);
    }

    public static void wroteElement(Object array, int index, short value, int site) {
        element(array, index, 2, value & 0xffffL, site);
    }

    public static void readField(Object object, char value, int site) {
        field(object, value, site);
    }

    public static void wroteField(Object object, char value, int site) {
        field(object, value, site);
    }

    public static void readStatic(char value, int site) {
        global(value, site);
    }

    public static void wroteStatic(char value, int site) {
        global(value, site);
    }

    public static void readElement(Object array, int index, char value, int site) {
        element(array, index, 2, value, site);
    }

    public static void wroteElement(Object array, int index, char value, int site) {
        element(array, index, 2, value, site);
    }

    public static void readField(Object object, int value, int site) {
        field(object, value & 0xffffffffL, site);
    }

    public static void wroteField(Object object, int value, int site) {
        field(object, value & 0xffffffffL, site);
    }

    public static void readStatic(int value, int site) {
        global(value & 0xffffffffL, site);
    }

    public static void wroteStatic(int value, int site) {
        global(value & 0xffffffffL, site);
    }

    public static void readElement(Object array, int index, int value, int site) {
        element(array, index, 4, value & 0xffffffffL, site);
    }

    public static void wroteElement(Object array, int index, int value, int site) {
        element(array, index, 4, value & 0xffffffffL, site);
    }

    public static void readField(Object object, long value, int site) {
        field(object, value, site);
    }

    public static void wroteField(Object object, long value, int site) {
        field(object, value, site);
    }

    public static void readStatic(long value, int site) {
        global(value, site);
    }

    public static void wroteStatic(long value, int site) {
        global(value, site);
    }

    public static void readElement(Object array, int index, long value, int site) {
        element(array, index, 8, value, site);
    }

    public static void wroteElement(Object array, int index, long value, int site) {
        element(array, index, 8, value, site);
    }

    public static void readField(Object object, float value, int site) {
        field(object, Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void wroteField(Object object, float value, int site) {
        field(object, Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void readStatic(float value, int site) {
        global(Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void wroteStatic(float value, int site) {
        global(Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void readElement(Object array, int index, float value, int site) {
        element(array, index, 4, Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void wroteElement(Object array, int index, float value, int site) {
        element(array, index, 4, Float.floatToRawIntBits(value) & 0xffffffffL, site);
    }

    public static void readField(Object object, double value, int site) {
        field(object, Double.doubleToRawLongBits(value), site);
    }

    public static void wroteField(Object object, double value, int site) {
        field(object, Double.doubleToRawLongBits(value), site);
    }

    public static void readStatic(double value, int site) {
        global(Double.doubleToRawLongBits(value), site);
    }

    public static void wroteStatic(double value, int site) {
        global(Double.doubleToRawLongBits(value), site);
    }

    public static void readElement(Object array, int index, double value, int site) {
        element(array, index, 8, Double.doubleToRawLongBits(value), site);
    }

    public static void wroteElement(Object array, int index, double value, int site) {
        element(array, index, 8, Double.doubleToRawLongBits(value), site);
    }

    public static void readField(Object object, Object value, int site) {
        field(object, reference(object, value, site), site);
    }

    public static void wroteField(Object object, Object value, int site) {
        field(object, reference(object, value, site), site);
    }

    public static void readStatic(Object value, int site) {
        global(reference(null, value, site), site);
    }

    public static void wroteStatic(Object value, int site) {
        global(reference(null, value, site), site);
    }

    public static void readElement(Object array, int index, Object value, int site) {
        element(array, index, 8, reference(array, value, site), site);
    }

    public static void wroteElement(Object array, int index, Object value, int site) {
        element(array, index, 8, reference(array, value, site), site);
    }

    public static void beforeField(Object object, int site) {
        if (object != null && counts(U.getLong(SITES + ((long) site << 4)))) {
            stopBefore(object, known(object), -1, site);
        }
    }

    public static void beforeStatic(int site) {
        if (counts(U.getLong(SITES + ((long) site << 4)))) {
            stopBefore(null, 0, -1, site);
        }
    }

    public static void beforeElement(Object array, int index, int site) {
        if (array != null && counts(U.getLong(SITES + ((long) site << 4)))) {
            stopBefore(array, known(array), index, site);
        }
    }

    /** An atomic access by way of {@code Unsafe} comes next. */
    @ForceInline
    static void before(Object base, long offset, int site) {
        if (ANNOUNCES && base != null && recorded()) {
            stopBeforeAtomic(base, known(base), offset, site);
        }
    }

    /** All elements of an array literal were written, unseen by anybody else. */
    public static void filledArray(Object array, int site) {
        if (recorded()) {
            range(array, 0, -1, site, true, true);
        }
    }

    /** The constructor of the topmost rewritten class has called that of its superclass. */
    public static void madeObject(Object object, int site) {
        if (Thread.currentThread() != holder) {
            return;
        }
        int offset = U.getInt(BY_CLASS + ((U.getInt(object, CLASS_WORD) & 0xffffffffL) << 2));
        if (offset <= 0) {
            name(object, U.getInt(object, CLASS_WORD), site, true);
            return;
        }
        if (ANNOUNCES) {
            point();
        }
        long address = U.getLong(NEXT);
        U.putLong(NEXT, address + OBJECT_SIZE);
        U.putLong(object, offset, address);
        record(U.getLong(SITES + ((long) site << 4)), address, OBJECT_SIZE);
    }

    /** An array, or an object that has no field for its address. */
    public static void madeArray(Object array, int site) {
        if (Thread.currentThread() == holder && known(array) == 0) {
            name(array, U.getInt(array, CLASS_WORD), site, true);
        }
    }

    /** A copy must not have the address of what it is a copy of. */
    public static void cloned(Object object, Object copy, int site) {
        int offset = U.getInt(BY_CLASS + ((U.getInt(copy, CLASS_WORD) & 0xffffffffL) << 2));
        if (offset == 0 && recorded()) {
            name(object, U.getInt(object, CLASS_WORD), site, true);
            offset = U.getInt(BY_CLASS + ((U.getInt(copy, CLASS_WORD) & 0xffffffffL) << 2));
        }
        if (offset > 0 && object != copy && U.getLong(copy, offset) == U.getLong(object, offset)) {
            U.putLong(copy, offset, 0);
        }
    }

    /** Instead of the {@code clone} of an array: all of its elements are read, and those of the copy written. */
    public static Object clonedArray(Object array, int site) throws CloneNotSupportedException {
        if (ANNOUNCES && array != null && recorded()) {
            point();
        }
        Object copy = array.clone();
        if (recorded()) {
            range(array, 0, -1, site, false, false);
            range(copy, 0, -1, site, true, true);
        }
        return copy;
    }

    /** A field is about to be read, or written, by reflection. */
    public static void beforeReflected(Object field, Object object, int write, int site) {
        if (ANNOUNCES && field != null && recorded()) {
            reflect((Field) field, object, 0, site, write);
        }
    }

    private static void reflect(Field field, Object object, long value, int site, int phase) {
        int modifiers = field.getModifiers();
        boolean isStatic = Modifier.isStatic(modifiers);
        // Nobody can see a final field change; without an object the access fails.
        if (Modifier.isFinal(modifiers) || !isStatic && object == null) {
            return;
        }
        long address;
        if (isStatic) {
            address = staticAddress(field.getDeclaringClass(), field.getName());
        } else {
            long block = phase < 2 ? known(object) : addressOf(object, site);
            address = block == 0 ? 0 : block + 2 * U.objectFieldOffset(field);
        }
        if (address != 0) {
            Class<?> type = field.getType();
            int size = type == int.class || type == float.class ? 4
                    : type == boolean.class || type == byte.class ? 1
                    : type == short.class || type == char.class ? 2 : 8;
            reflected(address, value, size, site, phase, Modifier.isVolatile(modifiers));
        }
    }

    /** The word of a value that {@code Field.get} or {@code Field.set} has as an object. */
    private static long word(Field field, Object value) {
        if (value == null) {
            return 0;
        }
        if (!field.getType().isPrimitive()) {
            return value(value, 0);
        }
        return value instanceof Boolean ? ((Boolean) value ? 1 : 0)
                : value instanceof Character ? (Character) value
                : value instanceof Double ? Double.doubleToRawLongBits((Double) value)
                : value instanceof Float ? Float.floatToRawIntBits((Float) value) : ((Number) value).longValue();
    }

    public static Object gotReflected(Object field, Object object, Object value, int site) {
        if (recorded()) {
            reflect((Field) field, object, word((Field) field, value), site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, Object value, int site) {
        if (recorded()) {
            reflect((Field) field, object, word((Field) field, value), site, 3);
        }
    }

    public static boolean gotReflected(Object field, Object object, boolean value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value ? 1 : 0, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, boolean value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value ? 1 : 0, site, 3);
        }
    }

    public static byte gotReflected(Object field, Object object, byte value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, byte value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 3);
        }
    }

    public static char gotReflected(Object field, Object object, char value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, char value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 3);
        }
    }

    public static short gotReflected(Object field, Object object, short value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, short value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 3);
        }
    }

    public static int gotReflected(Object field, Object object, int value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, int value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 3);
        }
    }

    public static long gotReflected(Object field, Object object, long value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, long value, int site) {
        if (recorded()) {
            reflect((Field) field, object, value, site, 3);
        }
    }

    public static float gotReflected(Object field, Object object, float value, int site) {
        if (recorded()) {
            reflect((Field) field, object, Float.floatToRawIntBits(value), site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, float value, int site) {
        if (recorded()) {
            reflect((Field) field, object, Float.floatToRawIntBits(value), site, 3);
        }
    }

    public static double gotReflected(Object field, Object object, double value, int site) {
        if (recorded()) {
            reflect((Field) field, object, Double.doubleToRawLongBits(value), site, 2);
        }
        return value;
    }

    public static void setReflected(Object field, Object object, double value, int site) {
        if (recorded()) {
            reflect((Field) field, object, Double.doubleToRawLongBits(value), site, 3);
        }
    }

    public static void copiedArray(Object from, int start, Object to, int target, int length, int site) {
        if (ANNOUNCES && length > 0 && recorded()) {
            point();
        }
        System.arraycopy(from, start, to, target, length);
        if (length != 0 && recorded()) {
            range(from, start, length, site, false, false);
            range(to, target, length, site, true, true);
        }
    }

    public static void copiedWithin(Object from, int start, Object to, int target, int length, int site) {
        if (isCalled()) {
            copiedArray(from, start, to, target, length, site);
        } else {
            System.arraycopy(from, start, to, target, length);
        }
    }

    /** {@code join} has returned. */
    public static void joined(Object thread, int site) {
        if (thread instanceof Thread && recorded()) {
            sawEnd(thread, site);
        }
    }

    /** The machine needs a moment to notice that a thread has ended: what counts is when it did its last step. */
    public static boolean checkedAlive(Object thread, boolean alive, int site) {
        return thread instanceof Thread && recorded() ? sawEnd(thread, site) && alive : alive;
    }

    /** {@code interrupt}, {@code isInterrupted} or {@code Thread.interrupted} comes next. */
    public static void interrupting() {
        if (recorded()) {
            beforeInterrupt();
        }
    }

    /** {@code isInterrupted} has returned. */
    public static boolean checkedInterrupted(Object thread, boolean interrupted, int site) {
        if (thread instanceof Thread && recorded()) {
            sawInterruption(thread, interrupted, false, site);
        }
        return interrupted;
    }

    /** {@code Thread.interrupted} has returned. */
    public static boolean checkedOwnInterruption(boolean interrupted, int site) {
        if (recorded()) {
            sawInterruption(Thread.currentThread(), interrupted, true, site);
        }
        return interrupted;
    }

    public static void fenced(int site) {
        if (recorded()) {
            fence(site);
        }
    }

    public static void enteringMonitor(Object object, int site) {
        if (object != null && recorded()) {
            enterMonitor(addressFirst(object, site), site);
        }
    }

    public static void leftMonitor(Object object, int site) {
        if (recorded()) {
            exitMonitor(addressFirst(object, site), site);
        }
    }

    /** The machine has taken the monitor already, and nothing was done with it yet. It is given back before others may
     * come: the model has not been asked. */
    public static void enteredMethod(Object object, int site) {
        if (Thread.currentThread() != quiet) {
            int times = giveBackMonitor(object, known(object));
            if (times != 0) {
                enteringMonitor(object, site);
                takeMonitor(object, times);
            }
        }
    }

    public static void leavingMethod(Object object, int site) {
        if (recorded()) {
            exitMonitor(addressFirst(object, site), site);
        }
    }

    /** A method of a lock begins. What it returns is given to the hook at its end: null if nothing is recorded. A fair
     * lock that somebody queues for (a wait for a condition or with a time limit does) would make its owner in the
     * model wait: it is taken in the model once it was really taken. */
    public static Object enteringLock(Object lock, int site) {
        if (!recorded()) {
            return null;
        }
        Object sync = U.getReference(lock, SYNC);
        boolean fair = ((ReentrantLock) lock).isFair();
        long address = addressFirst(lock, site);
        if (enterLock(address, System.identityHashCode(sync), site, fair && isQueued(sync)) && fair && isQueued(sync)) {
            exitMonitor(address, site);
        }
        return lock;
    }

    private static boolean isQueued(Object sync) {
        return U.getReference(sync, HEAD) != U.getReference(sync, TAIL);
    }

    public static void leftLock(boolean done, Object lock, int site) {
        if (lock != null) {
            leaveLock(known(lock), site, done);
        }
    }

    public static void givingLockUp(Object condition, int site) {
        waiting(condition, site, 0);
    }

    public static void gaveLockUp(Object condition, int site) {
        waiting(condition, site, 1);
    }

    public static void takingLockBack(Object condition, int site) {
        waiting(condition, site, 2);
    }

    public static void tookLockBack(Object condition, int site) {
        waiting(condition, site, 3);
    }

    /** Nothing of a thread is recorded while it gives the lock up or takes it back. */
    private static void waiting(Object condition, int site, int phase) {
        if (Thread.currentThread() == quiet || recorded()) {
            conditionWait(System.identityHashCode(U.getReference(condition, OUTER)), site, phase);
        }
    }

    public static void beginInitializer(int site) {
        if (Thread.currentThread() == quiet || recorded()) {
            initializer(site, true);
        }
    }

    public static void endInitializer(int site) {
        if (Thread.currentThread() == quiet || recorded()) {
            initializer(site, false);
        }
    }

    /** A class is used that may have to be initialized first. */
    public static void usingClass(int site) {
        long entry = SITES + ((long) site << 4);
        if (U.getLong(entry) == 0 && (Thread.currentThread() == quiet || recorded())
                && U.getInt(entry + 8) != (int) (U.getLong(BUDGET_AT) >>> 3)) {
            useClass(site);
        }
    }

    /** The machine lets a thread end with this exception. The program may have said what is to be done then. */
    public static void uncaught(Throwable exception) {
        if (exception != null && !(exception instanceof ThreadDeath)
                && Thread.currentThread().getUncaughtExceptionHandler().getClass() == ThreadGroup.class
                && Thread.getDefaultUncaughtExceptionHandler() == null) {
            fails(exception);
        }
    }

    /** The stack of calls that led to the method that asks. */
    public static int stack() {
        return Thread.currentThread() == holder ? U.getInt(U.getLong(WANTED_AT)) : 0;
    }

    /** The method with that stack is about to call. The site's entry remembers where the last call from there led. */
    public static void calling(int stack, int site) {
        if (Thread.currentThread() == holder) {
            long entry = SITES + ((long) site << 4);
            int next = U.getInt(entry + 8) == stack ? U.getInt(entry + 12) : call(stack, site);
            if (Thread.currentThread() == holder) {
                U.putInt(U.getLong(WANTED_AT), next);
            }
        }
    }

    /** The same for a call that leads into a collection or a lock of the JDK. */
    public static void callingInto(int stack, int site) {
        if (recorded()) {
            calling(stack, site);
            U.putInt(U.getLong(COLLECTION_AT), U.getInt(U.getLong(WANTED_AT)));
        }
    }

    /** A call has returned to the method with that stack, or an exception was caught in it. */
    public static void returned(int stack) {
        if (Thread.currentThread() == holder || mayArrive()) {
            U.putInt(U.getLong(WANTED_AT), stack);
        }
    }

    public static Class<?> classOfSite(int site) {
        return classAt(site);
    }
}
