import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** The parent joins its subtask first. */
public class ForkJoin_ok {
    static int data;

    static class Child extends RecursiveAction {
        @Override
        protected void compute() {
            data = 1;
        }
    }

    static class Parent extends RecursiveAction {
        @Override
        protected void compute() {
            Child child = new Child();
            child.fork();
            child.join();
            System.out.println(data);
        }
    }

    public static void main(String[] args) {
        new ForkJoinPool(2).invoke(new Parent());
    }
}
