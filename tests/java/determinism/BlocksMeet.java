/** Looks like blocks by number, but numbers fall together: rounded, a size that may be zero, rows put twice. */
public class BlocksMeet {
    static int[] rounded = new int[64];
    static int[] sized = new int[64];
    static int[] wide = new int[64];
    static int size;
    static Cell[] one = new Cell[9];
    static Cell[] other = new Cell[9];

    static class Cell {
        int value;
    }

    static class Worker extends Thread {
        private final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            rounded[id - id % 2] = id;
            sized[id * size] = id;
            for (int i = id * 4; i <= id * 4 + 4; i++) {
                wide[i] = id;
            }
            Cell mine = one[id];
            mine.value = id;
            Cell next = other[id];
            next.value = id;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        size = args.length;
        for (int i = 0; i < 8; i++) {
            Cell cell = new Cell();
            one[i] = cell;
            other[i + 1] = cell;
        }
        other[0] = new Cell();
        Worker[] workers = new Worker[8];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < workers.length; i++) {
            workers[i].join();
        }
        System.out.println(rounded[0] + " " + sized[0] + " " + wide[4] + " " + one[3].value);
    }
}
// can differ: BlocksMeet.rounded[], BlocksMeet.sized[], BlocksMeet.wide[], BlocksMeet.Cell.value
// output: can differ
