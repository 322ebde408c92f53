import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A message is complete before it is put into the queue. */
public class Queue_ok {
    static class Message {
        int text;
    }

    static final BlockingQueue<Message> queue = new ArrayBlockingQueue<>(1);

    static void send() {
        Message message = new Message();
        try {
            message.text = 1;
            queue.put(message);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void receive() {
        try {
            if (queue.take().text < 0) {
                throw new AssertionError();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> send(), "a");
        Thread b = new Thread(() -> receive(), "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
