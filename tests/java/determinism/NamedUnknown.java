import java.util.Random;

/** What depends on a call that is not understood names the call. */
public class NamedUnknown {
    static long drawn;
    static boolean alive;

    public static void main(String[] args) {
        Random random = new Random(1);
        drawn = random.longs(3).count();
        Thread other = new Thread(() -> {});
        other.start();
        alive = other.isAlive();
        if (alive) {
            System.out.println(drawn);
        }
    }
}
// can differ: NamedUnknown.drawn, NamedUnknown.alive
// output: can differ
// why of NamedUnknown.drawn: what is written at NamedUnknown.java:10 can depend on LongStream.count at NamedUnknown.java:10, which is not understood
// why of NamedUnknown.alive: what is written at NamedUnknown.java:13 can depend on what Thread.isAlive returns at NamedUnknown.java:13
// why of output: what is printed, or whether, can depend on LongStream.count at NamedUnknown.java:10, which is not understood
