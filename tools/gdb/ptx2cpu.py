# Functions and a command of gdb for device code (tools/gdb/README.md).
import gdb

# Members of ptx2cpu_running (runtime/worker/current_block.h), in words of 8 bytes.
FIRST, BLOCK_OF_LANDING, PLACE, GRID, THREADS, LOCAL, LOCAL_STRIDE = range(7)
WARP = 32


def number(address, size=8):
    """A number in the memory of the process. No function of it is called: the other threads stay where they are."""
    return int.from_bytes(gdb.selected_inferior().read_memory(address, size).tobytes(), "little")


def running():
    """Where ptx2cpu_running is, and the address of the block that the selected host thread runs; 0: none."""
    try:
        table = int(gdb.parse_and_eval("(unsigned long) &ptx2cpu_running"))
    except gdb.error:
        return 0, 0  # the libraries are not loaded yet
    thread = gdb.selected_thread()
    node = number(table + 8 * FIRST) if thread is not None else 0
    while node != 0:
        following, lwp, variable = (number(node + 8 * i) for i in range(3))
        if lwp == thread.ptid[1]:
            landing = number(variable)
            return table, number(landing + number(table + 8 * BLOCK_OF_LANDING)) if landing else 0
        node = following
    return table, 0


def extent(member):
    """Three numbers of the block; None: the host thread runs none."""
    table, block = running()
    if block == 0:
        return None
    return [number(block + number(table + 8 * member) + 4 * i, 4) for i in range(3)]


def local_variables(frame):
    """Those that DWARF describes in this frame and in the frames that it is inlined in: registers of the thread."""
    while frame is not None and frame.is_valid():
        try:
            scope = frame.block()
        except RuntimeError:  # no line information
            return
        while scope is not None and scope.function is None:
            scope = scope.superblock
        for symbol in scope or ():
            if symbol.is_variable and symbol.needs_frame and symbol.name.startswith("%"):
                yield symbol.value(frame)
        if frame.type() != gdb.INLINE_FRAME:
            return
        frame = frame.older()


def thread_number():
    """Of the current thread in its block. Its registers are in its window of the block's local memory."""
    table, block = running()
    if block == 0:
        raise gdb.GdbError("this host thread runs no block")
    window = number(block + number(table + 8 * LOCAL))
    stride = number(block + number(table + 8 * LOCAL_STRIDE))
    count = 1
    for threads in extent(THREADS):
        count *= threads
    for variable in local_variables(gdb.selected_frame()):
        if variable.address is not None and stride != 0:
            found = (int(variable.address) - window) // stride
            if 0 <= found < count:
                return found
    raise gdb.GdbError("no current thread here: this code runs several threads at once (exec --exec=lanes --opt 0 "
                       "runs one at a time), or has not begun one")


def place_of(thread):
    width, height, _ = extent(THREADS)
    return [thread % width, thread // width % height, thread // width // height]


class Thread(gdb.Function):
    """$ptx2cpu_thread(), $ptx2cpu_thread(1), $ptx2cpu_thread(2): x, y, z of the current thread in its block."""

    def __init__(self):
        super().__init__("ptx2cpu_thread")

    def invoke(self, dimension=0):
        if int(dimension) not in (0, 1, 2):
            raise gdb.GdbError("a dimension is 0, 1 or 2")
        return place_of(thread_number())[int(dimension)]


class OfWarp(gdb.Function):
    """$ptx2cpu_warp(): the current thread's warp in its block. $ptx2cpu_lane(): its place in the warp."""

    def __init__(self, name, part):
        super().__init__(name)
        self.part = part

    def invoke(self):
        return divmod(thread_number(), WARP)[self.part]


class Dimension(gdb.Function):
    """An extent of the block that this host thread runs: $NAME(), $NAME(1), $NAME(2) are x, y, z."""

    def __init__(self, name, member):
        super().__init__(name)
        self.member = member

    def invoke(self, dimension=0):
        if int(dimension) not in (0, 1, 2):
            raise gdb.GdbError("a dimension is 0, 1 or 2")
        numbers = extent(self.member)
        if numbers is None:
            raise gdb.GdbError("this host thread runs no block")
        return numbers[int(dimension)]


class Where(gdb.Command):
    """ptx2cpu: the block that this host thread runs, the grid, the threads of a block, and the current thread."""

    def __init__(self):
        super().__init__("ptx2cpu", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if extent(PLACE) is None:
            print("this host thread runs no block")
            return
        extents = ["(%d,%d,%d)" % tuple(extent(member)) for member in (PLACE, GRID, THREADS)]
        print("block %s of grid %s, blocks of %s threads" % tuple(extents))
        try:
            thread = thread_number()
        except gdb.GdbError:
            return
        print("thread (%d,%d,%d), warp %d, lane %d" % (*place_of(thread), *divmod(thread, WARP)))


Dimension("ptx2cpu_block", PLACE)
Dimension("ptx2cpu_grid", GRID)
Dimension("ptx2cpu_threads", THREADS)
Thread()
OfWarp("ptx2cpu_warp", 0)
OfWarp("ptx2cpu_lane", 1)
Where()
gdb.execute("set breakpoint pending on")
