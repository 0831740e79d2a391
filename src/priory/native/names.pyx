# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""A table of counts in which every name has a slot of its own, so that no two names share their counts.

A key is the number of a feature with the number of its kind. Its hash decides its home among 2^bits slots, and the
slots are sorted by hash: a name whose home is taken is in the next free slot. So the slots depend only on which names
are counted, and not on the order in which they came; a table that forgets a name is as if the name had never been there.
The table grows and shrinks with the number of names, at most two thirds of the homes.
"""

import mmap
from contextlib import suppress

from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memcpy, memmove, memset

from priory.native.blocks cimport MappedBlocks
from priory.native.buckets cimport IS_TIGHT

cdef enum:
    LEAST_BITS = 10
    MOST_BITS = 31
    MOST_COLUMNS = 1 << 20
    MARGIN = 1024  # slots after the last home; the last one stays empty and ends every search
cdef Py_ssize_t _HUGE_BYTES = 1 << 22  # from this size on huge pages are requested: most names are on a page of their own


def memory_of(Py_ssize_t size):
    """Return zeroed anonymous memory, which takes no space until something is written."""
    if size < 1:
        raise ValueError(f"counts do not have {size:,} bytes")
    if IS_TIGHT:
        return memoryview(bytearray(size))  # sanitizers watch over memory of malloc
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"not enough memory for counts of {size:,} bytes") from None
    if size >= _HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # not every kernel has them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


def table_bytes(Py_ssize_t columns, int bits=LEAST_BITS):
    """Return the size of a table with 2^bits homes."""
    fit_size(columns, bits)
    return 4 * (columns + 1) * ((<Py_ssize_t> 1 << bits) + MARGIN)


cdef int fit_size(Py_ssize_t columns, int bits) except -1:
    """Raise IndexError unless there can be a table with so many columns and 2^bits homes."""
    if not 1 <= columns <= MOST_COLUMNS or not LEAST_BITS <= bits <= MOST_BITS:
        raise IndexError(f"a table has 1 column or more and 2^{LEAST_BITS} to 2^{MOST_BITS} homes, not {columns}, 2^{bits}")
    return 0


cdef class NameTable:
    """Counts of names, each with a few columns of 32 bits, and the number of messages that were counted without names.

    >>> names = NameTable(2)
    >>> names.n, len(names.memory) == table_bytes(2)
    (0, True)
    """

    def __cinit__(self, Py_ssize_t columns, int bits=LEAST_BITS, Py_ssize_t n=0, int64_t nameless=0, memory=None):
        """Use this memory, with 2^bits homes and n names, or start empty."""
        fit_size(columns, bits)
        self.columns, self.stride, self.nameless = columns, columns + 1, nameless
        self.use(memory_of(table_bytes(columns, bits)) if memory is None else memory, bits, n)

    def __reduce__(self):
        return _restored, (self.columns, self.bits, self.n, self.nameless, bytes(self.memory))

    cdef int use(self, memory, int bits, Py_ssize_t n) except -1:
        """Take over memory that holds the slots."""
        cdef Py_ssize_t n_slots = (<Py_ssize_t> 1 << bits) + MARGIN
        cdef uint8_t[::1] view = memory
        if view.shape[0] != 4 * self.stride * n_slots:
            raise ValueError(f"a table of 2^{bits} homes does not have {view.shape[0]:,} bytes")
        if <uintptr_t> &view[0] % sizeof(uint32_t):
            raise ValueError("a table of names begins at an address that is not a multiple of 4")
        if not 0 <= n < n_slots:
            raise ValueError(f"a table of 2^{bits} homes does not have {n:,} names")
        cdef uint32_t* first = <uint32_t*> &view[0]
        if first[(n_slots - 1) * self.stride]:
            raise ValueError("a table of names is damaged: its last slot is taken")
        # A view of its own keeps the slots where they are, even if a caller resizes a bytearray.
        self.memory, self.bits, self.n, self.n_slots = memoryview(memory), bits, n, n_slots
        self.slots = Slots(first, self.stride, 32 - bits)
        return 0

    cdef int require(self, uint32_t hash_, bint to_change) except -1:
        """Raise DamagedBlockError if a slot is damaged that is read to find a name, or that is moved to change it."""
        cdef uint32_t* slot = self.home(hash_)
        if self.blocks is None:
            return 0
        while True:
            self.blocks.require(slot, self.stride * sizeof(uint32_t))
            if slot[0] == 0 or slot[0] >= hash_ and not to_change:
                return 0
            slot += self.stride

    cdef uint32_t* insert(self, uint32_t hash_) except NULL:
        """Return the columns of a name, in a new slot if it is not there yet."""
        cdef uint32_t* slot = self.home(hash_)
        cdef uint32_t* free
        cdef uint32_t* last = self.slots.first + (self.n_slots - 1) * self.stride
        while slot[0] < hash_ and slot[0]:
            slot += self.stride
        if slot[0] == hash_:
            return slot + 1
        free = slot
        while free[0]:
            free += self.stride
        if self.blocks is not None:
            self.blocks.require(slot, (free - slot + self.stride) * sizeof(uint32_t))
        if 3 * (self.n + 1) > <Py_ssize_t> 2 << self.bits or free == last:
            self.resize(self.bits + 1)
            return self.insert(hash_)
        memmove(slot + self.stride, slot, (free - slot) * sizeof(uint32_t))
        memset(slot, 0, self.stride * sizeof(uint32_t))
        slot[0] = hash_
        self.n += 1
        return slot + 1

    cdef void remove_if_zero(self, uint32_t hash_) noexcept:
        """Free the slot of a name if all its columns are 0; those after it that are away from home move up."""
        cdef uint32_t* columns = self.find(hash_)
        cdef uint32_t* slot
        cdef uint32_t* end
        cdef Py_ssize_t i
        if columns == NULL:
            return
        for i in range(self.columns):
            if columns[i]:
                return
        slot, end = columns - 1, columns + self.columns
        while end[0] and self.home(end[0]) < end:
            end += self.stride
        memmove(slot, slot + self.stride, (end - slot - self.stride) * sizeof(uint32_t))
        memset(end - self.stride, 0, self.stride * sizeof(uint32_t))
        self.n -= 1

    cdef int fit(self) except -1:
        """Shrink the table as far as its names allow."""
        cdef int bits = self.bits
        while bits > LEAST_BITS and 3 * self.n <= <Py_ssize_t> 1 << bits:
            bits -= 1
        if bits < self.bits:
            self.resize(bits)
        return 0

    cdef int resize(self, int bits) except -1:
        """Move all names to a table of another size, or to a larger one if they do not fit behind its last home."""
        cdef object old = self.memory  # keeps the old slots alive until they are copied
        cdef const uint32_t* slot = self.slots.first
        cdef const uint32_t* end = slot + self.n_slots * self.stride
        if self.blocks is not None:
            self.blocks.require(slot, (end - slot) * sizeof(uint32_t))
        while True:
            if bits > MOST_BITS:
                raise MemoryError(f"{self.n:,} names are too many for a table")
            self.use(memory_of(table_bytes(self.columns, bits)), bits, self.n)
            if self.take(slot, end):
                return 0
            bits += 1

    cdef bint take(self, const uint32_t* slot, const uint32_t* end) noexcept nogil:
        """Copy the names of other slots, which are in order, into this empty table; return False if they do not fit."""
        cdef uint32_t* free = self.slots.first
        cdef uint32_t* last = self.slots.first + (self.n_slots - 1) * self.stride
        cdef uint32_t* home
        while slot < end:
            if slot[0]:
                home = self.home(slot[0])
                free = home if home > free else free
                if free == last:
                    return False
                memcpy(free, slot, self.stride * sizeof(uint32_t))
                free += self.stride
            slot += self.stride
        return True


def _restored(columns, bits, n, nameless, bytes memory):
    return NameTable(columns, bits, n, nameless, memoryview(bytearray(memory)))
