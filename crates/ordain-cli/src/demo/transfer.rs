//! Two transfers between two accounts, in opposite directions. Each locks the account that pays first.

use ordain::sync::{Arc, Mutex};
use ordain::thread;

type Account = Arc<Mutex<i64>>;

fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut payer = from.lock().expect("not poisoned");
    let mut payee = to.lock().expect("not poisoned");
    *payer -= amount;
    *payee += amount;
}

pub(super) fn program() {
    let (alice, bob) = (Arc::new(Mutex::new(100)), Arc::new(Mutex::new(100)));
    let other = {
        let (alice, bob) = (alice.clone(), bob.clone());
        thread::spawn(move || transfer(&bob, &alice, 10))
    };
    transfer(&alice, &bob, 30);
    other.join().expect("no panic");
    assert_eq!(*alice.lock().expect("not poisoned") + *bob.lock().expect("not poisoned"), 200);
}
