import java.lang.reflect.Field;

/** Two threads count by reflection, one at a time. */
public class Reflection_ok {
    private int count;

    static void increment(Field field, Reflection_ok counter) {
        try {
            synchronized (counter) {
                field.setInt(counter, field.getInt(counter) + 1);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Reflection_ok counter = new Reflection_ok();
        Field field = Reflection_ok.class.getDeclaredField("count");
        Thread a = new Thread(() -> increment(field, counter), "a");
        Thread b = new Thread(() -> increment(field, counter), "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(counter.count);
    }
}
