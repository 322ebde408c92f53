import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** Orders that the library keeps: queues between two threads, tasks of one thread, threads that are started later. */
public class Ordered {
    static int last;
    static long hash;
    static int[] cells = new int[3], mirrored = new int[3];
    static int least = 100;
    static final AtomicIntegerArray counted = new AtomicIntegerArray(3);
    static final int[] numbers = {5, 3, 8, 1, 9, 2};

    static class Block extends Thread {
        final int low;
        final int[] counts = new int[2];

        Block(int low) {
            this.low = low;
        }

        @Override
        public void run() {
            for (int i = low; i < low + 3; i++) {
                counts[numbers[i] & 1]++;
                counted.incrementAndGet(numbers[i] % 3);
                synchronized (numbers) {
                    if (numbers[i] < least) least = numbers[i];
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        BlockingQueue<Integer> numbers = new ArrayBlockingQueue<>(2), squares = new LinkedBlockingQueue<>();
        new Thread(() -> {
            try {
                for (int i = 0; i < 9; i++) numbers.put(i);
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        }).start();
        new Thread(() -> {
            try {
                for (int i = 0; i < 9; i++) {
                    int number = numbers.take();
                    squares.put(number * number);
                }
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        }).start();
        for (int i = 0; i < 9; i++) hash = hash * 31 + squares.take();
        System.out.println(hash);

        Phaser phaser = new Phaser(3);
        Thread[] threads = new Thread[3];
        for (int k = 0; k < 3; k++) {
            final int id = k;
            threads[k] = new Thread(() -> {
                cells[id] = id + 1;
                phaser.arriveAndAwaitAdvance();
                mirrored[id] = cells[2 - id];
                if (id == 1) last = mirrored[id];
            });
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println(mirrored[0] + " " + last);

        Block[] blocks = new Block[2];
        for (int k = 0; k < 2; k++) {
            blocks[k] = new Block(k * 3);
            blocks[k].start();
        }
        int odd = 0;
        for (Block block : blocks) {
            block.join();
            odd += block.counts[1];
        }
        System.out.println(odd + " " + least + " " + counted.get(2));
    }
}
// threads: 5
// output: proved
// proved: Ordered.cells[], Ordered.mirrored[], Ordered.last, Ordered.least, Ordered.hash, Ordered.Block.counts[]
