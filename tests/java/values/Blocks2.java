/** Two blocks that have nothing in common, beside each other. */
public class Blocks2 {
    static int left;
    static int right;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> left = left + 1);
        Thread other = new Thread(() -> right = right + 2);
        one.start();
        other.start();
        one.join();
        other.join();
    }
}

// sources: Blocks2.left proved
// paper: Blocks2.left proved
// sources: Blocks2.right proved
// paper: Blocks2.right proved
// intervals: Blocks2.right lambda@Blocks2.java:10 2
