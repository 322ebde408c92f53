import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;

/** Objects of the library that show what others hold: changes go through them in both directions. */
class Views {
    static class Box {
        int copied;
        int drained;
        int greatest;
        int listed;
    }

    static class Numbers implements Iterable<Integer> {
        static int walked;

        @Override
        public Iterator<Integer> iterator() {
            return new Iterator<Integer>() {
                int at;

                @Override
                public boolean hasNext() {
                    return at < 3;
                }

                @Override
                public Integer next() {
                    walked = ++at;
                    return at;
                }
            };
        }
    }

    static final Integer[] NUMBERS = {3, 1, 2};
    static final Map<String, Integer> AGES = new HashMap<>();
    static int run;

    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Box> boxes = new HashMap<>();
        boxes.put("one", new Box());
        List<Box> copies = new ArrayList<>(boxes.values());
        Map<String, Runnable> tasks = new HashMap<>();
        tasks.put("one", () -> run = 1);
        List<Integer> shown = Arrays.asList(NUMBERS);
        AGES.put("one", 1);
        Thread other = new Thread(() -> {
            copies.get(0).copied = 1;
            Collections.max(copies, (a, b) -> 0).greatest = 1;
            for (Map.Entry<String, Runnable> task : tasks.entrySet()) {
                task.getValue().run();
            }
            shown.set(0, 9);
            for (Map.Entry<String, Integer> age : AGES.entrySet()) {
                age.setValue(2);
            }
            ListIterator<Box> each = copies.listIterator();
            each.next().listed = 1;
            new Numbers().forEach(number -> { });
        });
        other.start();
        Box box = boxes.get("one");
        System.out.println(box.copied + box.greatest + box.listed + run + Numbers.walked);
        System.out.println(NUMBERS[0]);
        System.out.println(AGES.get("one"));
        other.join();
    }
}
// can differ: Views.Box.copied, Views.Box.greatest, Views.Box.listed, Views.run, Views.Numbers.walked
// can differ: Views.NUMBERS[], Views.AGES contents
