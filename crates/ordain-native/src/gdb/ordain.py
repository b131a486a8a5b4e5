# A program that Ordain holds, for gdb: its threads by name, and steps of its schedule.
#
# All threads of the program run on one kernel thread, the carrier; the others are parked and lend their stacks. Wherever a
# kernel thread is inside Ordain's runtime, an unwinder leads gdb to the frames of the program's thread that belongs there,
# so that `info threads`, `bt`, `frame`, `print` work as always. The carrier shows the thread that runs; the kernel thread
# whose stack that one has borrowed shows `main` instead.
import json
import os
import struct

import gdb
from gdb.unwinder import Unwinder

with open(os.environ["ORDAIN_GDB"], encoding="utf-8") as file:
    DATA = json.load(file)
AT = DATA["control"]
MAIN = 0
REGISTERS = ["rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15"]


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class Record:
    """Where a thread last called something that Ordain sees."""

    def __init__(self, raw):
        self.thread = struct.unpack_from("<I", raw, AT["record_thread"])[0]
        self.registers = dict(zip(REGISTERS, struct.unpack_from("<8Q", raw, AT["record_registers"])))
        self.fs = struct.unpack_from("<Q", raw, AT["record_fs"])[0]


class Program:
    """The process, and where it is in its schedule."""

    def __init__(self):
        self.shared = 0
        self.runtime = []
        with open("/proc/%d/maps" % DATA["process"], encoding="utf-8", errors="replace") as maps:
            for line in maps:
                low, high = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
                if "memfd:ordain-shared" in line and not self.shared:
                    self.shared = low
                if "memfd:ordain-preload" in line:
                    self.runtime.append((low, high))
        self.made = DATA["made"]
        self.over = DATA["over"]
        # The runtime waits for a decision: the thread that moves next counts as the running one.
        self.asking = not self.over
        # The end was told.
        self.told = self.over
        self.target = None
        self.wanted = None
        self.names = {int(number): name for number, name in DATA["threads"].items()}
        # Kernel threads by the storage that they have when they are parked.
        self.storage = {}

    def read(self, address, form):
        raw = gdb.selected_inferior().read_memory(address, struct.calcsize(form)).tobytes()
        return struct.unpack(form, raw)[0]

    def word(self, name, form="<I"):
        return self.read(self.shared + AT[name], form)

    def write(self, name, value):
        gdb.selected_inferior().write_memory(self.shared + AT[name], struct.pack("<I", value))

    def in_runtime(self, address):
        return any(low <= address < high for low, high in self.runtime)

    def records(self):
        size = AT["record_size"]
        count = min(self.word("thread_count"), 1024)
        raw = gdb.selected_inferior().read_memory(self.shared + AT["records"], count * size).tobytes()
        return {r.thread: r for r in (Record(raw[i * size : (i + 1) * size]) for i in range(count))}

    def running(self):
        """The thread on the carrier."""
        step = self.next_step()
        if self.asking and step is not None:
            return step["number"]
        slot = self.read(self.read(self.shared + AT["running"], "<Q"), "<Q")
        return self.read(slot + self.read(self.shared + AT["running"] + 8, "<Q"), "<I")

    def carrier(self):
        return self.word("carrier", "<i")

    def shown_by(self, tid, running=None):
        """The thread that a kernel thread shows."""
        running = self.running() if running is None else running
        if running not in self.records():
            # It has ended, and its stack is of no interest.
            running = MAIN
        if tid == self.carrier():
            return running
        storage = self.storage.get(tid)
        for record in self.records().values():
            if record.fs == storage and record.thread != MAIN:
                return MAIN if record.thread == running else record.thread
        return None

    def answer(self):
        """Gives the runtime its turn, with the next decision, for whenever it is let go."""
        if not self.over:
            step = DATA["steps"][self.made] if self.made < len(DATA["steps"]) else None
            self.write("answer_thread", step["number"] if step else 0)
            self.write("answer_choice", step["choice"] if step else 0xFFFFFFFF)
        self.write("turn", 1)

    def next_step(self):
        return DATA["steps"][self.made] if not self.over and self.made < len(DATA["steps"]) else None


class Frames(Unwinder):
    """Leads from the runtime to the program's frames."""

    def __init__(self, program):
        super().__init__("ordain")
        self.program = program

    def __call__(self, frame):
        if frame.level() != 0:
            return None
        pc = int(frame.read_register("rip")) & 0xFFFFFFFFFFFFFFFF
        thread = gdb.selected_thread()
        if thread is None or not self.program.in_runtime(pc):
            return None
        record = self.program.records().get(self.program.shown_by(thread.ptid[1]))
        if record is None or record.registers["rip"] == 0:
            return None
        info = frame.create_unwind_info(FrameId(frame.read_register("rsp"), frame.read_register("rip")))
        registers = dict(record.registers)
        if self.program.over and DATA["exact"] == record.thread:
            # gdb takes it for the address that a call returns to, and looks at the byte before.
            registers["rip"] += 1
        for name, value in registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(gdb.lookup_type("unsigned long")))
        return info


class Hidden:
    """Frames of the runtime are not the program's."""

    def __init__(self, program):
        self.name = "ordain"
        self.priority = 100
        self.enabled = True
        self.program = program
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        seen = False
        for frame in frames:
            if self.program.in_runtime(frame.inferior_frame().pc()):
                if seen:
                    return
                continue
            seen = True
            yield frame


class Passing(gdb.Breakpoint):
    """The runtime asks what is next, or says that the execution is over."""

    def __init__(self, program):
        super().__init__("*%d" % program.word("passing", "<Q"), internal=True)
        self.silent = True
        self.program = program

    def stop(self):
        program = self.program
        if program.word("status") != AT["ask"]:
            program.over = True
            program.answer()
            return True
        program.made += 1
        program.answer()
        step = program.next_step()
        if step is not None:
            # Whatever stops next is a matter of this thread.
            name_threads(step["number"])
        if program.target is not None and program.made >= program.target:
            return True
        return program.wanted is not None and step is not None and step["thread"] == program.wanted


PROGRAM = Program()


def attach():
    """Takes the process over from Ordain, which waits."""
    for command in ["set confirm off", "set pagination off", "set print thread-events off"]:
        gdb.execute(command)
    quietly("on")
    try:
        gdb.execute("attach %d" % DATA["process"], to_string=True)
    except gdb.error as error:
        print("gdb cannot attach to the program: %s" % error)
        print("If the system forbids it, allow it for your own processes: sysctl kernel.yama.ptrace_scope=1")
        gdb.execute("quit 2")
        raise
    for signal in ["SIGSYS", "SIGVTALRM"]:
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        storage = int(gdb.newest_frame().read_register("fs_base"))
        if thread.ptid[1] != PROGRAM.carrier():
            PROGRAM.storage[thread.ptid[1]] = storage
    gdb.unwinder.register_unwinder(None, Frames(PROGRAM), True)
    Hidden(PROGRAM)
    Passing(PROGRAM)
    gdb.invalidate_cached_frames()
    gdb.events.stop.connect(on_stop)
    if hasattr(gdb.events, "gdb_exiting"):
        gdb.events.gdb_exiting.connect(lambda event: kill())
    PROGRAM.answer()
    name_threads()
    quietly("off")


def on_stop(event):
    PROGRAM.asking = not PROGRAM.over and gdb.newest_frame().pc() == PROGRAM.word("passing", "<Q")
    name_threads()
    if PROGRAM.over and not PROGRAM.told:
        PROGRAM.told = True
        tell()


def quietly(how):
    """Keeps gdb from telling where the runtime is; old ones tell anyway."""
    try:
        gdb.execute("set suppress-cli-notifications " + how)
    except gdb.error:
        pass


def kill():
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)


def name_threads(running=None):
    """Names kernel threads after what they show, or will show when another thread runs."""
    for thread in gdb.selected_inferior().threads():
        shown = PROGRAM.shown_by(thread.ptid[1], running)
        if shown is None and thread.ptid[1] not in PROGRAM.storage and thread.ptid[1] != PROGRAM.carrier():
            continue
        thread.name = PROGRAM.names.get(shown, "(spare)")


def is_spare(thread):
    """Whether a kernel thread shows no thread of the program that is still there."""
    shown = PROGRAM.shown_by(thread.ptid[1])
    known = thread.ptid[1] in PROGRAM.storage or thread.ptid[1] == PROGRAM.carrier()
    return known and PROGRAM.names.get(shown) not in living()


def kernel_thread(name):
    """The kernel thread that shows a thread of the program."""
    for thread in gdb.selected_inferior().threads():
        shown = PROGRAM.shown_by(thread.ptid[1])
        if shown is not None and PROGRAM.names.get(shown) == name:
            return thread
    return None


def program_frame():
    """The innermost frame in the selected thread whose source can be shown."""
    frame = gdb.newest_frame()
    while frame is not None and PROGRAM.in_runtime(frame.pc()):
        frame = frame.older()
    innermost = frame
    # Libraries whose sources are not there are passed over.
    for _ in range(64):
        if frame is None or PROGRAM.in_runtime(frame.pc()):
            break
        symtab = frame.find_sal().symtab
        if symtab is not None and os.path.exists(symtab.fullname()):
            return frame
        frame = frame.older()
    return innermost


def select(name):
    """Selects a thread and its innermost frame."""
    thread = kernel_thread(name)
    if thread is None or name not in living():
        return False
    thread.switch()
    frame = program_frame()
    if frame is not None:
        frame.select()
    return True


def where(name):
    """Where a thread is, in few words."""
    if not select(name):
        return ""
    frame = program_frame()
    if frame is None:
        return ""
    place = frame.find_sal()
    text = frame.name() or "?"
    if place is not None and place.symtab is not None:
        text += " at %s:%d" % (os.path.basename(place.symtab.filename), place.line)
    return text


def state(name):
    """What a thread does next."""
    if PROGRAM.made == DATA["made"] and PROGRAM.over == DATA["over"] and name in DATA["now"]:
        return DATA["now"][name]
    for number in range(PROGRAM.made, len(DATA["steps"])):
        step = DATA["steps"][number]
        if step["thread"] == name and not PROGRAM.over:
            return "%s: %s" % ("next" if number == PROGRAM.made else "step %d" % number, step["text"])
    return DATA["ends"].get(name, "ended")


def living():
    records = PROGRAM.records()
    # What has left main is in the runtime, on its way out.
    is_there = lambda rip: rip != 0 and not PROGRAM.in_runtime(rip)
    there = [number for number in sorted(records) if is_there(records[number].registers["rip"])]
    return [PROGRAM.names.get(number, "?") for number in there]


def selected_name():
    thread = gdb.selected_thread()
    return PROGRAM.names.get(PROGRAM.shown_by(thread.ptid[1])) if thread else None


def tell():
    """Where the execution is."""
    step = PROGRAM.next_step()
    if gdb.selected_inferior().pid == 0:
        return
    if step is None:
        name = DATA["focus"]
        print("The execution is over: %s" % DATA["finding"])
    else:
        name = step["thread"]
        print("Step %d is next: %s: %s%s" % (PROGRAM.made, name, step["text"], step["place"]))
    if select(name):
        print("[%s]" % name)
        gdb.execute("frame")


def go():
    """Lets the program go on; gdb tells only if it stops for a reason of its own."""
    process = gdb.selected_inferior().pid
    PROGRAM.told = True
    text = gdb.execute("continue", to_string=True)
    PROGRAM.told = PROGRAM.over
    if gdb.selected_inferior().pid != process:
        print(text, end="")
        return
    PROGRAM.target = PROGRAM.wanted = None
    if PROGRAM.over or PROGRAM.asking:
        tell()
    else:
        print(text, end="")


def number_of(text):
    if not text.strip().isdigit():
        raise gdb.GdbError("`%s` is no number." % text.strip())
    return int(text)


def need_program():
    if gdb.selected_inferior().pid == 0:
        raise gdb.GdbError("The program has ended; start `ordain replay --gdb` again.")


class Ordain(gdb.Command):
    """Threads of the program and steps of its schedule; `help ordain` lists the commands."""

    def __init__(self):
        super().__init__("ordain", gdb.COMMAND_USER, prefix=True)

    def invoke(self, argument, from_tty):
        gdb.execute("help ordain")


class Threads(gdb.Command):
    """ordain threads: lists the program's threads, what each does next or waits for, and where it is."""

    def __init__(self):
        super().__init__("ordain threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        need_program()
        selected = selected_name()
        rows = [(name, state(name), where(name)) for name in living()]
        if selected:
            select(selected)
        if not rows:
            print("No thread is inside the program's code any more.")
        widths = [max([len(row[i]) for row in rows] + [0]) for i in range(2)]
        for number, row in enumerate(rows):
            mark = "*" if row[0] == selected else " "
            text = "%s %d  %-*s  %-*s  %s" % (mark, number, widths[0], row[0], widths[1], row[1], row[2])
            print(text.rstrip())


class KernelThreads(gdb.Command):
    """info threads [ID...]: lists the kernel threads that show a thread of the program, by the names of those.

Threads that only lend their stacks, or are spare, are left out. `ordain threads` tells more."""

    def __init__(self):
        super().__init__("info threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        wanted = [number_of(word) for word in argument.split() if not word.startswith("-")]
        selected, frame = gdb.selected_thread(), None
        if selected is None:
            print("No threads.")
            return
        if selected.is_valid() and selected.is_stopped():
            frame = gdb.selected_frame()
        hidden, rows = 0, []
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            if wanted and thread.num not in wanted:
                continue
            if not wanted and is_spare(thread):
                hidden += 1
                continue
            thread.switch()
            place = gdb.execute("bt 1", to_string=True).splitlines()
            place = place[0].split(None, 1)[-1] if place else "?"
            mark = "*" if thread.num == selected.num else " "
            rows.append((mark, thread.num, 'LWP %d "%s"' % (thread.ptid[1], thread.name), place))
        width = max([len(row[2]) for row in rows] + [9])
        print("  Id   %-*s  Frame" % (width, "Target Id"))
        for mark, number, target, place in rows:
            print("%s %-4d %-*s  %s" % (mark, number, width, target, place))
        if hidden:
            print("(%d spare %s not shown)" % (hidden, "thread is" if hidden == 1 else "threads are"))
        selected.switch()
        if frame is not None and frame.is_valid():
            frame.select()


class Thread(gdb.Command):
    """ordain thread NAME|NUMBER: selects a thread of the program, as `ordain threads` calls it."""

    def __init__(self):
        super().__init__("ordain thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        need_program()
        name, names = argument.strip(), living()
        if name.isdigit() and int(name) < len(names):
            name = names[int(name)]
        if not name or not select(name):
            raise gdb.GdbError("There is no thread `%s` here; there are %s." % (name, ", ".join(names)))
        print("[%s: %s]" % (name, state(name)))
        gdb.execute("frame")


class Backtrace(gdb.Command):
    """ordain bt [all]: the stack of the selected thread, or of all threads."""

    def __init__(self):
        super().__init__("ordain bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        need_program()
        if argument.strip() != "all":
            gdb.execute("bt")
            return
        selected = selected_name()
        for name in living():
            print("[%s: %s]" % (name, state(name)))
            if select(name):
                gdb.execute("bt")
        if selected:
            select(selected)


class Step(gdb.Command):
    """ordain step [COUNT]: makes the next step of the schedule, or that many."""

    def __init__(self):
        super().__init__("ordain step", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        need_program()
        PROGRAM.target = PROGRAM.made + (number_of(argument) if argument.strip() else 1)
        go()


class Next(gdb.Command):
    """ordain next [THREAD]: goes on until the thread, or the selected one, is about to make its next step."""

    def __init__(self):
        super().__init__("ordain next", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        need_program()
        PROGRAM.wanted = argument.strip() or selected_name()
        go()


class Until(gdb.Command):
    """ordain until NUMBER: goes on until the step of that number is next."""

    def __init__(self):
        super().__init__("ordain until", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        need_program()
        target = number_of(argument)
        if target <= PROGRAM.made:
            raise gdb.GdbError("Step %d is next; to go back, start again with --at %d." % (PROGRAM.made, target))
        PROGRAM.target = target
        go()


class Steps(gdb.Command):
    """ordain steps: the steps of the execution; an arrow marks the one that is next."""

    def __init__(self):
        super().__init__("ordain steps", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for number, step in enumerate(DATA["steps"]):
            mark = "=>" if number == PROGRAM.made and not PROGRAM.over else "  "
            print("%s %4d  %s: %s%s" % (mark, number, step["thread"], step["text"], step["place"]))


class Output(gdb.Command):
    """ordain output: what the program has written to standard output and standard error."""

    def __init__(self):
        super().__init__("ordain output", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for descriptor, name in [(1, "standard output"), (2, "standard error")]:
            try:
                with open("/proc/%d/fd/%d" % (DATA["process"], descriptor), encoding="utf-8", errors="replace") as file:
                    text = file.read()
            except OSError:
                text = ""
            if text:
                print("%s:\n%s" % (name, text.rstrip("\n")))


for command in [Ordain, Threads, KernelThreads, Thread, Backtrace, Step, Next, Until, Steps, Output]:
    command()
attach()
tell()
