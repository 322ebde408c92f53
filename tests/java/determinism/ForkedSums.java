import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

/** Tasks that fork others like themselves, and join each of them. */
class ForkedSums extends RecursiveTask<Long> {
    static int last;
    private final int[] numbers;
    private final int from;
    private final int to;

    ForkedSums(int[] numbers, int from, int to) {
        this.numbers = numbers;
        this.from = from;
        this.to = to;
    }

    @Override
    protected Long compute() {
        last = from;
        if (to - from <= 10) {
            long sum = 0;
            for (int i = from; i < to; i++) {
                sum += numbers[i];
            }
            return sum;
        }
        int middle = (from + to) / 2;
        ForkedSums left = new ForkedSums(numbers, from, middle);
        ForkedSums right = new ForkedSums(numbers, middle, to);
        left.fork();
        long sum = right.compute();
        return left.join() + sum;
    }

    static class Thrower extends Thread {
        private final Random random;
        private int hits;

        Thrower(long seed) {
            random = new Random(seed);
        }

        @Override
        public void run() {
            for (int i = 0; i < 100; i++) {
                if (random.nextDouble() < 0.5) {
                    hits++;
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int[] numbers = new int[100];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = i;
        }
        System.out.println(new ForkJoinPool().invoke(new ForkedSums(numbers, 0, numbers.length)));
        Thrower[] throwers = new Thrower[4];
        for (int i = 0; i < 4; i++) {
            throwers[i] = new Thrower(i);
            throwers[i].start();
        }
        int hits = 0;
        for (Thrower thrower : throwers) {
            thrower.join();
            hits += thrower.hits;
        }
        System.out.println(hits);
    }
}
// output: proved
// proved: ForkedSums.Thrower.hits, ForkedSums.Thrower.random contents
// can differ: ForkedSums.last
