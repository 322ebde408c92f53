/** race: two threads pay into one account without a lock: a deposit can get lost. */
public class Field_bad {
    static class Account {
        int balance;

        void deposit(int amount) {
            balance = balance + amount;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Account account = new Account();
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
