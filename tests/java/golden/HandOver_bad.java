import java.util.concurrent.SynchronousQueue;

/** deadlock: both hand something over, and nobody takes. */
public class HandOver_bad {
    static void exchange(SynchronousQueue<Integer> out, SynchronousQueue<Integer> in) {
        try {
            out.put(1);
            in.take();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        SynchronousQueue<Integer> there = new SynchronousQueue<>();
        SynchronousQueue<Integer> back = new SynchronousQueue<>();
        Thread first = new Thread(() -> exchange(there, back), "first");
        Thread second = new Thread(() -> exchange(back, there), "second");
        first.start();
        second.start();
        first.join();
        second.join();
    }
}
