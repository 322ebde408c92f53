/** The last of the threads takes what is left over; nobody is behind it. One that ends too late meets the next. */
public class LastPart {
    static final int THREADS = 4;
    static int[] filled, overlapping;
    static int chunk;

    static class Worker extends Thread {
        final int id;

        Worker(int id) {
            this.id = id;
        }

        @Override
        public void run() {
            int low = id * chunk;
            int high = id == THREADS - 1 ? filled.length : low + chunk;
            for (int i = low; i < high; i++) filled[i] = i;
            int end = id == 1 ? filled.length : low + chunk;
            for (int i = low; i < end; i++) overlapping[i] = id;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        filled = new int[18];
        overlapping = new int[18];
        chunk = filled.length / THREADS;
        Worker[] workers = new Worker[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (Worker worker : workers) worker.join();
        int sum = 0;
        for (int cell : filled) sum += cell;
        System.out.println(sum);
        System.out.println(overlapping[9]);
    }
}
// proved: LastPart.filled[]
// can differ: LastPart.overlapping[]
