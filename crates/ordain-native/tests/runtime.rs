//! Unit tests of the runtime. It has no standard library and is only built to be preloaded, so it cannot run tests itself: the parts of it
//! that use nothing of the process, but only compute, are included here as they are, with the tests beside their code.

#![expect(unreachable_pub, reason = "the runtime has no users for whom this would be a promise")]

extern crate alloc;

#[path = "../../ordain-preload/src/filter/program.rs"]
mod filter;
#[path = "../../ordain-preload/src/hash.rs"]
mod hash;
#[path = "../../ordain-preload/src/descriptors/hosts.rs"]
mod hosts;
#[path = "../../ordain-preload/src/watch/operand.rs"]
mod operand;
#[path = "../../ordain-preload/src/files/own.rs"]
mod own;
#[path = "../../ordain-preload/src/files/path_text.rs"]
mod path_text;
#[path = "../../ordain-preload/src/signals/pending.rs"]
mod pending;
#[path = "../../ordain-preload/src/inputs/records.rs"]
mod records;
#[path = "../../ordain-preload/src/maps/regions.rs"]
mod regions;
#[path = "../../ordain-preload/src/spin/rounds.rs"]
mod rounds;
#[path = "../../ordain-preload/src/time/spans.rs"]
mod spans;
#[path = "../../ordain-preload/src/watch/table.rs"]
mod table;
