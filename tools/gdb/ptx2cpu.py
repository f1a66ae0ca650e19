# Functions and a command of gdb for device code (tools/gdb/README.md).
import gdb

# Members of ptx2cpu_running (runtime/worker/current_block.h), in words of 8 bytes.
FIRST, BLOCK_OF_LANDING, PLACE, GRID, THREADS = range(5)


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
    """ptx2cpu: the block that this host thread runs, the grid, and the threads of a block."""

    def __init__(self):
        super().__init__("ptx2cpu", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if extent(PLACE) is None:
            print("this host thread runs no block")
            return
        extents = ["(%d,%d,%d)" % tuple(extent(member)) for member in (PLACE, GRID, THREADS)]
        print("block %s of grid %s, blocks of %s threads" % tuple(extents))


Dimension("ptx2cpu_block", PLACE)
Dimension("ptx2cpu_grid", GRID)
Dimension("ptx2cpu_threads", THREADS)
Where()
gdb.execute("set breakpoint pending on")
