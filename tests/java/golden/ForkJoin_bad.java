import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** race: the parent goes on before its subtask has ended. */
public class ForkJoin_bad {
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
            System.out.println(data >= 0);
            child.join();
        }
    }

    public static void main(String[] args) {
        new ForkJoinPool(2).invoke(new Parent());
    }
}
