//! What is explored: programs of the library and native ones, of many sizes.

use crate::{irregular, programs};
use ordain_explore::strategy::Kind;
use ordain_native::{Launch, Mode, Native, Patience, Settings, options};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What a workload runs.
#[derive(Clone)]
pub enum Program {
    /// Code against the types of the library.
    Library(Rc<dyn Fn()>),
    /// An unmodified program and its arguments.
    Native(PathBuf, Vec<OsString>),
}

/// A program, and how it is explored.
#[derive(Clone)]
pub struct Workload {
    /// The name, with arguments.
    pub name: String,
    /// How it is explored.
    pub kind: Kind,
    /// What is run.
    pub program: Program,
    /// Whether its threads do the same things in every schedule.
    pub regular: bool,
}

impl Workload {
    /// A program of the library.
    fn library(name: &str, program: impl Fn() + 'static) -> Self {
        Self { name: name.into(), kind: Kind::Optimal, program: Program::Library(Rc::new(program)), regular: true }
    }

    /// Its threads do not do the same things in every schedule.
    fn irregular(self) -> Self {
        Self { regular: false, ..self }
    }

    /// Explored in another way.
    fn by(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// A native program.
    fn native(directory: &Path, program: &str, arguments: &[usize]) -> Self {
        let listed: Vec<_> = arguments.iter().map(usize::to_string).collect();
        let arguments = listed.iter().map(Into::into).collect();
        Self {
            name: format!("{program} {}", listed.join(" ")),
            kind: Kind::Optimal,
            program: Program::Native(directory.join(program), arguments),
            regular: true,
        }
    }

    /// Where it runs: `library` or `native`.
    pub fn home(&self) -> &'static str {
        if matches!(self.program, Program::Library(_)) { "library" } else { "native" }
    }
}

/// Prepares a native program.
///
/// # Panics
/// If it cannot be run here.
pub(crate) fn native(program: &Path, arguments: &[OsString]) -> Native {
    let launch =
        Launch { program: program.into(), arguments: arguments.to_vec(), environment: Vec::new(), input: Vec::new() };
    Native::new(launch, options(&Settings::default()), Some(Mode::Snapshot), Patience::default())
        .unwrap_or_else(|failure| panic!("{}: {failure}", program.display()))
}

macro_rules! library {
    ($($module:ident :: $name:ident ( $($argument:expr),* )),* $(,)?) => {
        vec![$({
            let name = [stringify!($name), "(", &[$(stringify!($argument)),*].join(", "), ")"].concat();
            Workload::library(&name, || $module::$name($($argument),*))
        }),*]
    };
}

/// The programs of the library that are small enough for a test.
pub fn small() -> Vec<Workload> {
    let mut all = library![programs::readers(9), programs::mutex_counter(3, 3), programs::lost_update(3, 2)];
    let irregular = library![irregular::cache(3, 2), irregular::queue(3, 2), irregular::table(3, 3, 4, 5)];
    all.extend(irregular.into_iter().map(Workload::irregular));
    all
}

/// Those that the peer is measured on.
pub fn peer() -> Vec<Workload> {
    library![programs::readers(6), programs::mutex_counter(3, 2), programs::philosophers(5, true)]
}

/// All of them. `natives` is where the native programs are; without, they are left out.
pub fn all(natives: Option<&Path>) -> Vec<Workload> {
    let mut all = library![
        programs::readers(10),
        programs::readers(17),
        programs::lastzero(8),
        programs::lastzero(13),
        programs::indexer(15),
        programs::mutex_counter(3, 3),
        programs::mutex_counter(2, 9),
        programs::mutex_counter(4, 3),
        programs::philosophers(10, true),
        programs::philosophers(16, true),
        programs::lost_update(3, 2),
        programs::lost_update(2, 5),
        programs::lost_update(4, 1),
    ];
    let irregular = library![
        programs::abba(6),
        programs::philosophers(12, false),
        programs::buffer(1, 1, 7, true),
        programs::buffer(2, 1, 2, true),
        programs::buffer(3, 3, 1, true),
        irregular::cache(3, 2),
        irregular::cache(4, 2),
        irregular::fan_in(4, 2),
        irregular::treiber(3, 1),
        irregular::treiber(2, 3),
        irregular::treiber(4, 1),
        irregular::queue(3, 2),
        irregular::try_locks(4, 2, 1),
        irregular::try_locks(3, 2, 2),
        irregular::work_queue(2, 9),
        irregular::work_queue(3, 4),
        irregular::once(4),
        irregular::once(5),
        irregular::climb(3, 9),
        irregular::climb(4, 9),
        irregular::phases(3, 2),
        irregular::permits(3, 2),
        irregular::bank(4, 3, 4, 11),
        irregular::election(5),
        irregular::election(6),
        irregular::rare(4, 7),
        irregular::table(3, 3, 4, 5),
        irregular::table(4, 3, 6, 5),
        irregular::versions(2, 2),
        irregular::versions(3, 1),
        irregular::choices(3, 4),
    ];
    all.extend(irregular.into_iter().map(Workload::irregular));
    all.extend(
        library![programs::mutex_counter(3, 2), programs::lost_update(2, 2)].into_iter().map(|w| w.by(Kind::Dfs)),
    );
    let source = library![irregular::treiber(3, 1), irregular::table(4, 3, 6, 5)];
    all.extend(source.into_iter().map(|w| w.irregular().by(Kind::Source)));
    if let Some(natives) = natives {
        let native = |program, arguments: &[usize]| Workload::native(natives, program, arguments);
        all.extend([
            native("mutex_counter", &[2, 6]),
            native("mutex_counter", &[3, 3]),
            native("philosophers", &[11]),
            native("rwlock", &[4, 3]),
            native("rwlock", &[3, 4]),
        ]);
        let irregular = [
            native("buffer", &[1, 1, 8]),
            native("buffer", &[2, 1, 2]),
            native("semaphore", &[3, 2, 2]),
            native("barrier", &[4, 2]),
        ];
        all.extend(irregular.into_iter().map(Workload::irregular));
    }
    all
}
