/** race: a constructor starts a thread that reads a final field which is not set yet. */
public class Constructor_bad {
    final int answer;

    Constructor_bad() {
        new Thread(() -> show(), "reader").start();
        answer = 42;
    }

    void show() {
        System.out.println(answer);
    }

    public static void main(String[] args) {
        new Constructor_bad();
    }
}
