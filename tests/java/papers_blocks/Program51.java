/**
 * Park's thesis, Program 5.1: objects that a loop makes in a method that is called from two places. Each is told apart
 * by where its callers were: the deadlock is of the first and the last.
 *
 * outcome: deadlock
 */
public class Program51 {
    static final Object[] made = new Object[30];
    static int count;

    static void foo() {
        bar();
        bar();
    }

    static void bar() {
        for (int i = 0; i < 3; i++) {
            made[count++] = new Object();
        }
    }

    static void both(Object outer, Object inner) {
        synchronized (outer) {
            synchronized (inner) {
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 5; i++) {
            foo();
        }
        Thread there = new Thread(() -> both(made[0], made[29]), "there");
        Thread back = new Thread(() -> both(made[29], made[0]), "back");
        there.start();
        back.start();
        there.join();
        back.join();
    }
}
