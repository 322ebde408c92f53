import java.lang.reflect.Field;

/** race: two threads count by reflection, without a lock: a count can get lost. */
public class Reflection_bad {
    private int count;

    static void increment(Field field, Reflection_bad counter) {
        try {
            field.setInt(counter, field.getInt(counter) + 1);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Reflection_bad counter = new Reflection_bad();
        Field field = Reflection_bad.class.getDeclaredField("count");
        Thread a = new Thread(() -> increment(field, counter), "a");
        Thread b = new Thread(() -> increment(field, counter), "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(counter.count);
    }
}
