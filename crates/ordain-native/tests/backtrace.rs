//! Backtraces of real processes: compiled here in several ways, stopped, unwound, and compared with their source.

mod compile;

use ordain_native::backtrace::{Frame, Locals, Location, Registers, Symbols, program_frames};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A chain of calls that ends in `pause`, with a function that is inlined on the way.
const CHAIN: &str = r#"
#include <stdio.h>
#include <unistd.h>
int sink;
__attribute__((noinline)) void innermost(int n) {
    printf("ready\n");
    fflush(stdout);
    pause(); /* line: innermost */
    sink += n;
}
static inline __attribute__((always_inline)) void inlined(int n) {
    innermost(n * 2); /* line: inlined */
    sink++;
}
__attribute__((noinline)) void middle(int n) {
    char buffer[300];
    snprintf(buffer, sizeof buffer, "%d", n);
    inlined(n); /* line: middle */
    sink += buffer[0];
}
__attribute__((noinline)) void outer(int n) {
    middle(n + 1); /* line: outer */
    sink++;
}
int main(void) {
    outer(1); /* line: main */
    return sink == 0;
}
"#;

/// A process that is killed when the test ends.
struct Target {
    child: Child,
    /// What it printed before it paused.
    said: Vec<String>,
}

impl Target {
    /// Starts a program and waits until it has printed `ready` and one of its threads pauses.
    fn start(program: &Path) -> Target {
        let child = Command::new(program).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut target = Target { child, said: Vec::new() };
        let output = BufReader::new(target.child.stdout.take().expect("its output is a pipe"));
        target.said = output.lines().map_while(Result::ok).take_while(|line| line != "ready").collect();
        let limit = Instant::now() + Duration::from_secs(30);
        while target.paused().is_none() {
            assert!(Instant::now() < limit, "the program does not pause");
            std::thread::sleep(Duration::from_millis(1));
        }
        target
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The thread that pauses last, by its number.
    fn paused(&self) -> Option<i32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("the process lives");
        let paused = tasks.flatten().filter(|task| {
            let call = fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_pause))
        });
        paused.filter_map(|task| task.file_name().to_str()?.parse().ok()).max()
    }

    /// The registers of the thread that pauses.
    fn registers(&self) -> Registers {
        let thread = self.paused().expect("a thread pauses");
        let mut all = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: the thread is one of a child of ours; the kernel fills the struct, which has room for all of it.
        let all = unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_ATTACH, thread, none, none), 0, "attach");
            assert_eq!(libc::waitpid(thread, std::ptr::null_mut(), libc::__WALL), thread, "stop");
            assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, thread, none, all.as_mut_ptr()), 0, "registers");
            // It goes back into the same call.
            assert_eq!(libc::ptrace(libc::PTRACE_DETACH, thread, none, none), 0, "detach");
            all.assume_init()
        };
        Registers {
            rip: all.rip,
            rsp: all.rsp,
            rbp: all.rbp,
            rbx: all.rbx,
            r12: all.r12,
            r13: all.r13,
            r14: all.r14,
            r15: all.r15,
            exact: true,
        }
    }

    /// The stack of the thread that pauses.
    fn backtrace(&self) -> Vec<Frame> {
        let registers = self.registers();
        let mut symbols = Symbols::new(self.pid()).expect("the process can be read");
        symbols.unwind(self.pid(), &registers)
    }

    /// A number that the program printed as `NAME HEX`.
    fn value(&self, name: &str) -> u64 {
        let line = self.said.iter().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix("0x"));
        let digits = line.unwrap_or_else(|| panic!("{name} is not in {:?}", self.said));
        u64::from_str_radix(digits, 16).expect("a number")
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line that is marked in a source.
fn line_of(source: &str, mark: &str) -> u32 {
    let mark = format!("line: {mark} ");
    let index = source.lines().position(|line| line.contains(&mark)).expect("the mark is there");
    index as u32 + 1
}

/// Every place of some frames, inlined ones too.
fn places(frames: &[Frame]) -> Vec<&Location> {
    frames.iter().flat_map(|frame| &frame.locations).collect()
}

/// The names of the functions.
fn functions(frames: &[Frame]) -> Vec<&str> {
    places(frames).iter().map(|place| place.function.as_deref().unwrap_or("?")).collect()
}

/// Checks all that is known of `CHAIN` compiled with debug information.
fn assert_chain(program: &Path) {
    let target = Target::start(program);
    let all = target.backtrace();
    assert!(functions(&all).contains(&"_start"), "down to the very first: {:?}", functions(&all));
    let frames = program_frames(all);
    let inside_libc = frames.iter().take_while(|frame| frame.module.starts_with("libc.so")).count();
    assert!(inside_libc >= 1, "pause itself is in libc");
    let frames = &frames[inside_libc..];
    let expected = ["innermost", "inlined", "middle", "outer", "main"];
    assert_eq!(functions(frames), expected);
    for (place, name) in places(frames).iter().zip(expected) {
        assert_eq!(place.line, Some(line_of(CHAIN, name)), "of {name}");
        assert_eq!(place.file.as_deref(), Some(&*program.with_extension("c")), "of {name}");
        assert_eq!(place.module, program.file_name().expect("a name").to_string_lossy());
    }
    assert_eq!(frames[1].locations.len(), 2, "an inlined function shares the frame of its caller");
    let line = line_of(CHAIN, "main");
    assert_eq!(places(frames)[4].to_string(), format!("main at {}:{line}", program.with_extension("c").display()));
}

#[test]
fn names_functions_and_lines() {
    let directory = TempDir::new().expect("a directory");
    assert_chain(&compile::c(directory.path(), "plain", CHAIN, &["-g", "-O1"]));
}

#[test]
fn names_functions_and_lines_of_optimised_code() {
    let directory = TempDir::new().expect("a directory");
    assert_chain(&compile::c(directory.path(), "fast", CHAIN, &["-g", "-O2"]));
}

#[test]
fn names_functions_and_lines_of_position_dependent_code() {
    let directory = TempDir::new().expect("a directory");
    assert_chain(&compile::c(directory.path(), "fixed", CHAIN, &["-g", "-O1", "-no-pie", "-fno-pie"]));
}

#[test]
fn names_functions_and_lines_from_compressed_sections() {
    let directory = TempDir::new().expect("a directory");
    assert_chain(&compile::c(directory.path(), "small", CHAIN, &["-g", "-O1", "-gz=zlib"]));
}

#[test]
fn names_functions_and_lines_from_a_separate_debug_file() {
    let directory = TempDir::new().expect("a directory");
    let program = compile::c(directory.path(), "split", CHAIN, &["-g", "-O1"]);
    let debug = directory.path().join("split.debug");
    let objcopy = |arguments: &[&str]| {
        let status = Command::new("objcopy").current_dir(directory.path()).args(arguments).status();
        assert!(status.expect("objcopy runs").success());
    };
    objcopy(&["--only-keep-debug", "split", "split.debug"]);
    objcopy(&["--strip-all", "--add-gnu-debuglink=split.debug", "split"]);
    assert!(debug.is_file());
    assert_chain(&program);
}

#[test]
fn names_functions_without_debug_information() {
    let directory = TempDir::new().expect("a directory");
    let target = Target::start(&compile::c(directory.path(), "bare", CHAIN, &["-O1"]));
    let frames = program_frames(target.backtrace());
    let named: Vec<&str> = functions(&frames).into_iter().filter(|name| *name != "?").collect();
    assert!(named.ends_with(&["innermost", "middle", "outer", "main"]), "{named:?}");
    let main = places(&frames).pop().expect("main").to_string();
    assert!(main.starts_with("main in bare+0x"), "{main}");
}

#[test]
fn unwinds_a_stripped_program() {
    let directory = TempDir::new().expect("a directory");
    let target = Target::start(&compile::c(directory.path(), "stripped", CHAIN, &["-O1", "-s"]));
    let frames = program_frames(target.backtrace());
    let own: Vec<String> =
        places(&frames).iter().filter(|at| at.module == "stripped").map(|at| at.to_string()).collect();
    assert_eq!(own.len(), 4, "innermost, middle, outer, main: {own:?}");
    assert!(own.iter().all(|place| place.starts_with("stripped+0x")), "{own:?}");
}

#[test]
fn unwinds_by_frame_pointers_without_tables() {
    let directory = TempDir::new().expect("a directory");
    let options = ["-g", "-O1", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"];
    assert_chain(&compile::c(directory.path(), "untabled", CHAIN, &options));
}

#[test]
fn starts_at_a_return_address() {
    let directory = TempDir::new().expect("a directory");
    // The saved state of a parked thread, as after a call to the function that parks it.
    let source = r#"
        #include <stdio.h>
        #include <unistd.h>
        unsigned long saved[3];
        __attribute__((noinline)) void park(void) {
            saved[0] = (unsigned long)__builtin_return_address(0);
            saved[1] = (unsigned long)__builtin_frame_address(0) + 16;
            saved[2] = *(unsigned long *)__builtin_frame_address(0);
            printf("rip %#lx\nrsp %#lx\nrbp %#lx\nready\n", saved[0], saved[1], saved[2]);
            fflush(stdout);
            pause();
        }
        __attribute__((noinline)) void worker(void) {
            park(); /* line: worker */
            __builtin_trap();
        }
        int main(void) {
            worker(); /* line: main */
            return 0;
        }
    "#;
    let target = Target::start(&compile::c(directory.path(), "parked", source, &["-g", "-O0"]));
    let [rip, rsp, rbp] = ["rip", "rsp", "rbp"].map(|name| target.value(name));
    let registers = Registers { rip, rsp, rbp, exact: false, ..Registers::default() };
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let frames = program_frames(symbols.unwind(target.pid(), &registers));
    assert_eq!(functions(&frames), ["worker", "main"]);
    let lines: Vec<_> = places(&frames).iter().map(|place| place.line).collect();
    assert_eq!(lines, [Some(line_of(source, "worker")), Some(line_of(source, "main"))]);
    assert_eq!(frames[0].address, rip);
}

#[test]
fn goes_through_a_signal_handler_to_the_instruction_that_was_interrupted() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        #include <signal.h>
        #include <stdio.h>
        #include <unistd.h>
        int *volatile nothing;
        void handler(int signal) {
            printf("ready\n");
            fflush(stdout);
            pause();
        }
        __attribute__((noinline)) int culprit(void) {
            return *nothing; /* line: culprit */
        }
        int main(void) {
            struct sigaction action = {.sa_handler = handler};
            sigaction(SIGSEGV, &action, NULL);
            return culprit() + 1; /* line: main */
        }
    "#;
    let target = Target::start(&compile::c(directory.path(), "crash", source, &["-g", "-O1"]));
    let frames = program_frames(target.backtrace());
    let own: Vec<Frame> = frames.into_iter().filter(|frame| frame.module == "crash").collect();
    assert_eq!(functions(&own), ["handler", "culprit", "main"]);
    assert_eq!(places(&own)[1].line, Some(line_of(source, "culprit")));
    assert_eq!(places(&own)[2].line, Some(line_of(source, "main")));
}

#[test]
fn finds_who_called_through_a_null_pointer() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        #define _GNU_SOURCE
        #include <signal.h>
        #include <stdio.h>
        #include <ucontext.h>
        #include <unistd.h>
        void (*volatile nothing)(void);
        void handler(int signal, siginfo_t *info, void *context) {
            greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
            printf("rsp %#llx\nrbp 0x%llx\nready\n", registers[REG_RSP], registers[REG_RBP]);
            fflush(stdout);
            pause();
        }
        __attribute__((noinline)) int culprit(void) {
            nothing(); /* line: culprit */
            return 1;
        }
        int main(void) {
            struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
            sigaction(SIGSEGV, &action, NULL);
            return culprit() + 1;
        }
    "#;
    let target = Target::start(&compile::c(directory.path(), "wild", source, &["-g", "-O1"]));
    let registers =
        Registers { rip: 0, rsp: target.value("rsp"), rbp: target.value("rbp"), exact: true, ..Registers::default() };
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let frames = program_frames(symbols.unwind(target.pid(), &registers));
    assert_eq!(functions(&frames), ["?", "culprit", "main"]);
    assert_eq!(places(&frames)[0].to_string(), "unmapped+0x0");
    assert_eq!(places(&frames)[1].line, Some(line_of(source, "culprit")));
}

#[test]
fn shows_a_thread_from_its_own_function_on() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        #include <pthread.h>
        #include <stdio.h>
        #include <unistd.h>
        void *worker(void *argument) {
            printf("ready\n");
            fflush(stdout);
            pause(); /* line: worker */
            return argument;
        }
        int main(void) {
            pthread_t thread;
            pthread_create(&thread, NULL, worker, NULL);
            pthread_join(thread, NULL);
        }
    "#;
    let target = Target::start(&compile::c(directory.path(), "threads", source, &["-g", "-O1"]));
    let all = target.backtrace();
    assert!(all.last().expect("frames").module.starts_with("libc.so"), "{all:#?}");
    let frames = program_frames(all);
    let last = frames.last().expect("frames");
    assert_eq!(functions(std::slice::from_ref(last)), ["worker"]);
    assert_eq!(last.locations[0].line, Some(line_of(source, "worker")));
}

#[test]
fn demangles_names_of_cpp() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        #include <cstdio>
        #include <mutex>
        #include <thread>
        #include <unistd.h>
        namespace app {
            std::mutex guard;
            struct Base { int id; std::mutex lock; };
            struct Derived : Base { std::mutex own; } derived;
            template <typename T> struct Queue {
                T last;
                __attribute__((noinline)) void push(T value) {
                    printf("guard %p\nlock %p\nown %p\nready\n", &guard, &derived.lock, &derived.own);
                    fflush(stdout);
                    pause(); /* line: push */
                    last = value;
                }
            };
        }
        int main() {
            app::Queue<int> queue;
            std::thread worker([&] { queue.push(1); });
            worker.join();
        }
    "#;
    let program = compile::cpp(directory.path(), "demangled", source, &["-g", "-O1", "-std=c++17"]);
    let target = Target::start(&program);
    let frames = program_frames(target.backtrace());
    let names = functions(&frames);
    let push = names.iter().position(|name| name.starts_with("app::Queue<int>::push")).expect("push");
    assert_eq!(places(&frames)[push].line, Some(line_of(source, "push")));
    assert_eq!(names[push + 1..], ["operator()"], "the lambda, and nothing of what std::thread calls it with");
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let mut name = |variable: &str| symbols.variable_at(target.value(variable));
    assert_eq!(name("guard").as_deref(), Some("app::guard"));
    assert_eq!(name("lock").as_deref(), Some("app::derived.lock"));
    assert_eq!(name("own").as_deref(), Some("app::derived.own"));
}

#[test]
fn shows_rust_without_its_runtime() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        use std::sync::Mutex;
        unsafe extern "C" { fn pause() -> i32; }
        static LOCK: Mutex<i32> = Mutex::new(0);
        mod inner {
            #[inline(never)]
            pub fn work(n: i32) -> i32 {
                println!("lock {:p}\nready", &crate::LOCK);
                let guard = crate::LOCK.lock();
                let result = unsafe { crate::pause() } + n; /* line: work */
                drop(guard);
                result
            }
        }
        fn main() {
            std::thread::spawn(|| inner::work(1)).join().unwrap(); /* line: spawn */
        }
    "#;
    let program = compile::rust(directory.path(), "rusty", source, &["-g", "-O"]);
    let target = Target::start(&program);
    let frames = program_frames(target.backtrace());
    let own: Vec<Frame> = frames.into_iter().filter(|frame| frame.module == "rusty").collect();
    assert_eq!(functions(&own)[0], "rusty::inner::work");
    assert_eq!(places(&own)[0].line, Some(line_of(source, "work")));
    assert!(functions(&own).iter().all(|name| name.starts_with("rusty::")), "{:?}", functions(&own));
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    assert_eq!(symbols.variable_at(target.value("lock")).as_deref(), Some("rusty::LOCK"));
    assert_eq!(symbols.variable_at(target.value("lock") + 4).as_deref(), Some("rusty::LOCK+4"));
}

/// Variables of many shapes, with their addresses printed.
const VARIABLES: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t forks[5];
static struct pool { int size; pthread_mutex_t lock; struct { pthread_cond_t full; } wait[3]; } pool;
static struct pool *const pools[2] = {&pool, 0};
pthread_mutex_t grid[2][3];
int counter;
__thread int local;
int main(void) {
    static pthread_mutex_t hidden;
    pthread_mutex_t automatic;
    pthread_mutex_lock(&hidden);
    printf("queue_lock %p\nforks %p\npool %p\nlock %p\nfull %p\ngrid %p\nhidden %p\ncounter %p\nlocal %p\nauto %p\n",
        &queue_lock, &forks[2], &pool, &pool.lock, &pool.wait[1].full, &grid[1][2], &hidden, &counter, &local, &automatic);
    printf("inside %p\npools %p\nready\n", (char *)&forks[3] + 4, &pools[1]);
    fflush(stdout);
    pause();
    return counter;
}
"#;

#[test]
fn names_variables_elements_and_members() {
    let directory = TempDir::new().expect("a directory");
    for (name, options) in [("named", &["-g", "-O0"][..]), ("fixed", &["-g", "-O1", "-no-pie", "-fno-pie"])] {
        let target = Target::start(&compile::c(directory.path(), name, VARIABLES, options));
        let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
        let mut name = |variable: &str| symbols.variable_at(target.value(variable));
        assert_eq!(name("queue_lock").as_deref(), Some("queue_lock"));
        assert_eq!(name("forks").as_deref(), Some("forks[2]"));
        assert_eq!(name("inside").as_deref(), Some("forks[3]+4"));
        assert_eq!(name("pool ").as_deref(), Some("pool.size"));
        assert_eq!(name("lock").as_deref(), Some("pool.lock"));
        assert_eq!(name("full").as_deref(), Some("pool.wait[1].full"));
        assert_eq!(name("grid").as_deref(), Some("grid[1][2]"));
        assert_eq!(name("hidden").as_deref(), Some("hidden"));
        assert_eq!(name("counter").as_deref(), Some("counter"));
        assert_eq!(name("pools").as_deref(), Some("pools[1]"));
        assert_eq!(name("local"), None, "thread-local storage is in no file");
        assert_eq!(name("auto"), None, "neither is a stack");
    }
}

/// Objects that only functions on the stack know, with their addresses printed.
const LOCALS: &str = r#"
    #include <cstdio>
    #include <memory>
    #include <mutex>
    #include <pthread.h>
    #include <unistd.h>
    struct Account { int balance = 0; std::mutex m; };
    struct Queue { long size = 0; pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; Account accounts[2]; void push(); };
    void Queue::push() {
        printf("own %p\nready\n", (void *)&accounts[1].m);
        fflush(stdout);
        pause();
        size++;
    }
    static void inner(Account &account, Queue *queue, Account *first) {
        Account *node = first;
        printf("ref %p\nfirst %p\nnumber %p\n", (void *)&account.m, (void *)&first->m, (void *)&account.balance);
        queue->push();
        Account *late = node;
        late->balance++;
    }
    int main() {
        Account account;
        auto *queue = new Queue;
        Account *node = new Account;
        printf("lock %p\nnode %p\n", (void *)&queue->lock, (void *)&node->m);
        inner(account, queue, new Account);
        return node->balance;
    }
"#;

#[test]
fn names_objects_as_functions_on_the_stack_do_if_that_is_certain() {
    let directory = TempDir::new().expect("a directory");
    for (name, options) in [("pie", &["-g", "-O0"][..]), ("fixed", &["-g", "-O0", "-no-pie", "-fno-pie"])] {
        let target = Target::start(&compile::cpp(directory.path(), name, LOCALS, options));
        let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
        let mut locals = Locals::default();
        let registers = target.registers();
        symbols.locals(target.pid(), &registers, &mut locals);
        let mutex = |name: &str| name.contains("mutex");
        let name = |variable: &str| symbols.local_at(&locals, target.value(variable), &mutex);
        assert_eq!(name("ref").as_deref(), Some("account.m"), "a variable, also through a reference");
        assert_eq!(name("lock").as_deref(), Some("queue->lock"), "better than this->lock");
        assert_eq!(name("own").as_deref(), Some("queue->accounts[1].m"));
        assert_eq!(name("first").as_deref(), Some("first->m"));
        assert_eq!(name("node"), None, "two variables of this name lead to two objects");
        assert_eq!(name("number"), None, "a number is no mutex");
        let inside = target.value("lock") + 4;
        assert_eq!(symbols.local_at(&locals, inside, &mutex), None, "the inside of an object is none");
    }
    let target = Target::start(&compile::cpp(directory.path(), "bare", LOCALS, &["-O0"]));
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let mut locals = Locals::default();
    symbols.locals(target.pid(), &target.registers(), &mut locals);
    assert_eq!(symbols.local_at(&locals, target.value("lock"), &|_: &str| true), None);
}

#[test]
fn names_variables_by_symbols_alone() {
    let directory = TempDir::new().expect("a directory");
    let target = Target::start(&compile::c(directory.path(), "symbols", VARIABLES, &["-O0"]));
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let mut name = |variable: &str| symbols.variable_at(target.value(variable));
    assert_eq!(name("queue_lock").as_deref(), Some("queue_lock"));
    assert_eq!(name("forks").as_deref(), Some("forks+80"));
    assert_eq!(name("lock").as_deref(), Some("pool+8"));

    let target = Target::start(&compile::c(directory.path(), "none", VARIABLES, &["-O0", "-s"]));
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    assert_eq!(symbols.variable_at(target.value("queue_lock")), None);
}

#[test]
fn does_not_take_a_file_that_replaced_the_program() {
    let directory = TempDir::new().expect("a directory");
    let program = compile::c(directory.path(), "replaced", CHAIN, &["-g", "-O1"]);
    let target = Target::start(&program);
    fs::remove_file(&program).expect("the program can be removed");
    let other = CHAIN.replace("int sink;", "\n\n\nint sink; int more[1000];");
    compile::c(directory.path(), "replaced", &other, &["-g", "-O0"]);
    let frames = target.backtrace();
    let main = places(&frames).into_iter().find(|place| place.function.as_deref() == Some("main")).expect("main");
    assert_eq!(main.line, Some(line_of(CHAIN, "main")), "the process still runs the old file");
}

#[test]
fn a_process_that_is_gone_is_an_error_with_its_cause() {
    let mut child = Command::new("true").spawn().expect("a process");
    child.wait().expect("it ends");
    let error = Symbols::new(child.id()).expect_err("there is no such process");
    assert_eq!(error.to_string(), format!("cannot look into process {}", child.id()));
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn odd_registers_give_a_short_backtrace() {
    let directory = TempDir::new().expect("a directory");
    let target = Target::start(&compile::c(directory.path(), "odd", CHAIN, &["-g", "-O1"]));
    let good = target.registers();
    let mut symbols = Symbols::new(target.pid()).expect("the process can be read");
    let odd =
        [0, 1, 7, 8, 4096, good.rip, good.rsp, good.rsp + 1, 1 << 47, i64::MAX as u64, 1 << 63, u64::MAX - 7, u64::MAX];
    for rip in odd {
        for rsp in odd {
            for rbp in odd {
                for exact in [false, true] {
                    let frames = symbols.unwind(target.pid(), &Registers { rip, rsp, rbp, exact, ..good });
                    assert!((1..=64).contains(&frames.len()));
                    assert!(frames.iter().all(|frame| !frame.locations.is_empty()));
                }
            }
        }
    }
}

#[test]
fn stops_after_64_frames() {
    let directory = TempDir::new().expect("a directory");
    let source = r#"
        #include <stdio.h>
        #include <unistd.h>
        int recurse(int n) {
            if (n == 0) { printf("ready\n"); fflush(stdout); pause(); return 0; }
            return recurse(n - 1) + n;
        }
        int main(void) { return recurse(500); }
    "#;
    let target = Target::start(&compile::c(directory.path(), "deep", source, &["-g", "-O0"]));
    let frames = target.backtrace();
    assert_eq!(frames.len(), 64);
    assert!(functions(&frames[10..]).iter().all(|name| *name == "recurse"));
}
