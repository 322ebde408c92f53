/** Main checks what two threads did: whether the program fails depends on them. */
public class ExitStatus {
    static volatile int sum;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> sum = sum + 1);
        Thread two = new Thread(() -> sum = sum + 2);
        one.start();
        two.start();
        one.join();
        two.join();
        if (sum != 3) {
            throw new AssertionError("lost");
        }
    }
}

// can differ: ExitStatus.sum
// output of exit status: can differ
