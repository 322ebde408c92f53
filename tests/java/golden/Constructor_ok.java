/** The thread is started when the object is done. */
public class Constructor_ok {
    final int answer;

    Constructor_ok() {
        answer = 42;
    }

    void show() {
        System.out.println(answer);
    }

    public static void main(String[] args) {
        Constructor_ok made = new Constructor_ok();
        new Thread(() -> made.show(), "reader").start();
    }
}
