/** For compilers that make old class files: subroutines for `finally`, classes by name, no frames. */
public class Old {
    static int count;
    int[] data = {1, 2, 3};

    static synchronized int next() {
        return ++count;
    }

    synchronized int sum(int upTo) {
        int result = 0;
        try {
            for (int i = 0; i < upTo; i++) {
                result += data[i];
            }
        } finally {
            count += result;
        }
        return result;
    }

    public static void main(String[] args) {
        Old old = new Old();
        System.out.println(next() + " " + old.sum(3) + " " + count + " " + Old.class);
        try {
            old.sum(4);
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println("beyond the end, " + count);
        }
        synchronized (old) {
            try {
                System.out.println(next());
            } finally {
                count = 0;
            }
        }
    }
}
