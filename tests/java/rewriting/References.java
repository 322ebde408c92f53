import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.*;

/** References to methods of collections, of every shape. Prints what comes of them. */
public class References {
    final List<String> own = new ArrayList<>();
    final Consumer<String> field = own::add;

    static List<Integer> made() {
        System.out.print("made ");
        return new ArrayList<>(List.of(3, 1, 2));
    }

    public static void main(String[] args) {
        References it = new References();
        it.field.accept("a");
        Function<List<?>, Integer> size = List::size;
        // The receiver is asked for once, where the reference stands.
        Supplier<Integer> later = made()::size;
        ObjIntConsumer<List<Integer>> remove = List::remove;
        List<Integer> list = made();
        remove.accept(list, 0);
        Map<String, Long> map = new HashMap<>();
        BiFunction<String, Long, Long> put = map::put;
        put.apply("k", 7L);
        map.computeIfPresent("k", (k, v) -> v + 1);
        ToLongFunction<String> get = map::get;
        StringBuilder text = new StringBuilder();
        DoubleFunction<StringBuilder> appendDouble = text::append;
        LongFunction<StringBuilder> appendLong = text::append;
        appendDouble.apply(1.5);
        appendLong.apply(1L << 40);
        BitSet bits = new BitSet();
        IntConsumer set = bits::set;
        set.accept(5);
        Supplier<Map<String, Integer>> make = TreeMap::new;
        List.of("x", "y").forEach(it.own::add);
        System.out.println(size.apply(it.own) + " " + later.get() + list + get.applyAsLong("k") + text + bits + make.get());
        try {
            List<String> none = null;
            Consumer<String> add = none::add;
            add.accept("z");
        } catch (NullPointerException e) {
            System.out.println("null");
        }
        try {
            ((Consumer<Object>) (Consumer) (Consumer<Integer>) List.<Integer>of()::contains).accept("q");
            System.out.println("no exception");
        } catch (ClassCastException e) {
            System.out.println("cast");
        }
    }
}
