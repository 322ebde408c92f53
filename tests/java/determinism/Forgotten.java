/** As in Report, but the last worker is not waited for. */
public class Forgotten {
    static int total;
    static final int[] parts = new int[4];

    static class Worker extends Thread {
        private final int number;

        Worker(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            parts[number] = number * number;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Worker[] workers = new Worker[parts.length];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (int i = 0; i < workers.length - 1; i++) {
            workers[i].join();
        }
        for (int part : parts) {
            total += part;
        }
        System.out.println(total);
    }
}

// can differ: Forgotten.parts[], Forgotten.total
// proved: Forgotten.Worker.number
// output: can differ
