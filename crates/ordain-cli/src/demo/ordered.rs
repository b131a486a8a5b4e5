//! Two transfers between two accounts, in opposite directions. Both lock the account with the lower number first.

use ordain::sync::{Arc, Mutex};
use ordain::thread;

type Accounts = Arc<[Mutex<i64>; 2]>;

fn transfer(accounts: &Accounts, from: usize, to: usize, amount: i64) {
    let mut first = accounts[from.min(to)].lock().expect("not poisoned");
    let mut second = accounts[from.max(to)].lock().expect("not poisoned");
    let (payer, payee) = if from < to { (&mut first, &mut second) } else { (&mut second, &mut first) };
    **payer -= amount;
    **payee += amount;
}

pub(super) fn program() {
    let accounts = Arc::new([Mutex::new(100), Mutex::new(100)]);
    let other = {
        let accounts = accounts.clone();
        thread::spawn(move || transfer(&accounts, 1, 0, 10))
    };
    transfer(&accounts, 0, 1, 30);
    other.join().expect("no panic");
    assert_eq!(*accounts[0].lock().expect("not poisoned"), 80);
}
