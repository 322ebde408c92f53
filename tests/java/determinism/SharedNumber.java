/** Two workers have the same number: their place is shared. */
public class SharedNumber {
    static final int[] parts = new int[4];

    static class Worker extends Thread {
        private final int number;
        private final int value;

        Worker(int number, int value) {
            this.number = number;
            this.value = value;
        }

        @Override
        public void run() {
            parts[number] = value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Worker[] workers = new Worker[4];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(i / 2, i);
            workers[i].start();
        }
        for (Worker worker : workers) {
            worker.join();
        }
        System.out.println(parts[0]);
    }
}

// can differ: SharedNumber.parts[]
// proved: SharedNumber.Worker.number
// output: can differ
