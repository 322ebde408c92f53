import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Loops and neighbouring calls of a sequential program; the lines say which could run at the same time. */
public class Kernels {
    static int[] a = new int[100];
    static int[] b = new int[100];
    static int[] order = new int[100];
    static double[][] rows = new double[20][30];
    static double[] sums = new double[100];
    static int total;
    static int last;
    static int scratch;
    static double mean;
    static List<Integer> list = new ArrayList<>();
    static Map<Integer, Integer> map = new HashMap<>();
    static Cell[] cells = new Cell[50];
    static int one;
    static int other;

    static class Cell {
        int value;

        void grow(int by) {
            value = value + by;
        }
    }

    static int square(int value) {
        return value * value;
    }

    static void fillOne() {
        for (int i = 0; i < 100; i++) { // turns: parallelisable
            a[i] = square(i);
        }
    }

    static void fillAgain() {
        for (int i = 0; i < 100; i++) {
            a[i] = i;
        }
    }

    static void fillOther() {
        for (int i = 0; i < b.length; i++) { // turns: parallelisable
            b[i] = i + 1;
        }
    }

    static void shift() {
        for (int i = 1; i < 100; i++) { // turns: not
            a[i] = a[i - 1] + 1;
        }
    }

    static void twice() {
        for (int i = 0; i < 100; i++) { // turns: parallelisable
            a[i] = a[i] * 2;
        }
    }

    static void everySecond() {
        for (int i = 0; i < 98; i += 2) { // turns: parallelisable
            a[i] = b[i + 1];
        }
    }

    static void overlap() {
        for (int i = 0; i < 98; i++) { // turns: not
            a[i] = i;
            a[i + 1] = i;
        }
    }

    static void scattered() {
        for (int i = 0; i < 100; i++) { // turns: not
            a[order[i]] = i;
        }
    }

    static void rowsOfTheirOwn() {
        for (int i = 0; i < 20; i++) { // turns: parallelisable
            for (int j = 0; j < 30; j++) {
                rows[i][j] = i * j;
            }
        }
    }

    static void columns() {
        for (int j = 0; j < 30; j++) { // turns: not
            for (int i = 0; i < 20; i++) {
                rows[i][0] = j;
            }
        }
    }

    static int local() {
        int sum = 0;
        for (int i = 0; i < 100; i++) { // turns: reduction
            sum += a[i];
        }
        return sum;
    }

    static double localOfDoubles() {
        double sum = 0;
        for (int i = 0; i < 100; i++) { // turns: not
            sum += sums[i];
        }
        return sum;
    }

    static int localSeen() {
        int sum = 0;
        for (int i = 0; i < 100; i++) { // turns: not
            sum += a[i];
            b[i] = sum;
        }
        return sum;
    }

    static void shared() {
        for (int i = 0; i < 100; i++) { // turns: reduction
            total += a[i];
        }
    }

    static void lastOne() {
        for (int i = 0; i < 100; i++) { // turns: not
            last = a[i];
        }
    }

    static void passedOn() {
        for (int i = 0; i < 100; i++) { // turns: not
            scratch = a[i];
            b[i] = scratch + 1;
        }
    }

    static int search(int wanted) {
        for (int i = 0; i < 100; i++) { // turns: not
            if (a[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    static void collect() {
        for (int i = 0; i < 100; i++) { // turns: not
            list.add(a[i]);
        }
    }

    static void print() {
        for (int i = 0; i < 100; i++) { // turns: not
            System.out.println(a[i]);
        }
    }

    static void growAll() {
        for (int i = 0; i < 50; i++) { // turns: not
            cells[0].grow(i * cells[i].value);
        }
    }

    static void freshOnes() {
        for (int i = 0; i < 100; i++) { // turns: parallelisable
            int[] own = new int[3];
            own[0] = i;
            own[1] = own[0] * 2;
            a[i] = own[1];
        }
    }

    static void carried() {
        int before = 0;
        for (int i = 0; i < 100; i++) { // turns: not
            a[i] = before;
            before = b[i];
        }
    }

    static void setOne() {
        one = 5;
    }

    static void setOther() {
        other = 7;
    }

    static void useOne() {
        other = one + 1;
    }

    static void addOne() {
        total += 3;
    }

    static void addTwo() {
        total += 4;
    }

    static void multiply() {
        total *= 2;
    }

    static void say(String what) {
        System.out.println(what);
    }

    static void put(int key) {
        map.put(key, key);
    }

    static void half(int from, int to) {
        for (int i = from; i < to; i++) {
            sums[i] = i * 0.5;
        }
    }

    static int read(int at) {
        return b[at];
    }

    static void calls() {
        setOne();
        setOther(); // calls: parallelisable
        total++;
        setOne();
        useOne(); // calls: not
        total++;
        addOne();
        addTwo(); // calls: reduction
        last++;
        addOne();
        multiply(); // calls: not
        last++;
        say("a");
        say("b"); // calls: not
        last++;
        put(1);
        put(2); // calls: not
        last++;
        int x = read(1);
        int y = read(2); // calls: parallelisable
        last += x + y;
        int z = read(3);
        last += read(z & 7); // calls: not
        fillOne();
        fillOther(); // calls: parallelisable
        fillAgain();
        twice(); // calls: not
    }

    public static void main(String[] args) {
        for (int i = 0; i < cells.length; i++) {
            cells[i] = new Cell();
        }
        calls();
        shift();
        everySecond();
        overlap();
        scattered();
        rowsOfTheirOwn();
        columns();
        last += local() + (int) localOfDoubles() + localSeen();
        shared();
        lastOne();
        passedOn();
        last += search(7);
        collect();
        print();
        growAll();
        freshOnes();
        carried();
        half(0, 50);
        System.out.println(last + total + one + other + a[3] + b[4] + sums[5]);
    }
}
