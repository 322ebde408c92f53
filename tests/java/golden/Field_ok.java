/** Two threads pay into one account, each in its monitor. */
public class Field_ok {
    int balance;

    synchronized void deposit(int amount) {
        balance = balance + amount;
    }

    public static void main(String[] args) throws InterruptedException {
        Field_ok account = new Field_ok();
        Thread[] clerks = new Thread[2];
        for (int i = 0; i < clerks.length; i++) {
            clerks[i] = new Thread(() -> account.deposit(10), "clerk " + (i + 1));
            clerks[i].start();
        }
        for (Thread clerk : clerks) {
            clerk.join();
        }
        if (account.balance != 20) {
            throw new AssertionError("balance is " + account.balance);
        }
    }
}
