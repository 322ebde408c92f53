/** Two threads with nothing in common. */
public class Disjoint {
    static int left;
    static int right;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> left = left + 1);
        Thread other = new Thread(() -> right = right + 2);
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(left + right);
    }
}

// proved: Disjoint.left, Disjoint.right
// output: proved
