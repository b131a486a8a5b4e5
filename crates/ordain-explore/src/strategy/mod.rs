//! One file for each strategy.

mod awake;
mod bounded;
mod chunks;
mod dfs;
mod dpor;
mod kind;
mod mixed;
mod optimal;
mod pct;
mod portfolio;
mod pos;
mod random;
mod reducing;
mod source;
mod urw;

pub use bounded::{Bound, Bounded};
pub use chunks::{CHUNK, Chunk, Chunks, Deal, InOrder};
pub use dfs::Dfs;
pub use dpor::Dpor;
pub use kind::Kind;
pub use mixed::Mixed;
pub use optimal::Optimal;
pub use pct::Pct;
pub use portfolio::Portfolio;
pub use pos::Pos;
pub use random::{Random, Walk};
pub use source::Source;
pub use urw::Urw;
