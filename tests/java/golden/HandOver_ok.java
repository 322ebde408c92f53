import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;

/** One hands over what the other takes. */
public class HandOver_ok {
    static int sum(BlockingQueue<Integer> queue) throws InterruptedException {
        int[] sum = new int[1];
        Thread puts = new Thread(() -> {
            try {
                for (int i = 1; i <= 3; i++) {
                    queue.put(i);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }, "puts");
        Thread takes = new Thread(() -> {
            try {
                for (int i = 1; i <= 3; i++) {
                    sum[0] += queue.take();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }, "takes");
        puts.start();
        takes.start();
        puts.join();
        takes.join();
        return sum[0];
    }

    public static void main(String[] args) throws InterruptedException {
        if (sum(new SynchronousQueue<>()) + sum(new LinkedTransferQueue<>()) != 12) {
            throw new AssertionError();
        }
    }
}
