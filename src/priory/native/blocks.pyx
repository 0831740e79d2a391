# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Checksums of a mapped file in blocks, each verified before it is first used.

To verify a whole snapshot would take several times as long as opening it, and a single message needs a hundredth of it.
A checksum is made of the rounds of xxHash64, in four lanes. Each round is one to one in the word and in the state, so
damage within any 8 bytes is always found, and other damage with a probability of 1 - 2^-64.

A mapped page that cannot be read, because the file was truncated or the disk has an error, raises the signal SIGBUS.
Its handler here puts a page of zeros in place of the missing one and notes that the memory was lost; without it the
process would die. The handler only reads the table of mappings, calls mmap, and sets a flag, as a signal handler may.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <errno.h>
    #include <signal.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <unistd.h>

    #define PRIORY_MAPPINGS 256

    static struct {
        volatile uintptr_t start;
        volatile uintptr_t size;  /* 0 if this place is free */
        volatile sig_atomic_t lost;
    } priory_mappings[PRIORY_MAPPINGS];
    static struct sigaction priory_earlier;
    static uintptr_t priory_page;

    static void priory_replace_page(int number, siginfo_t* info, void* context) {
        uintptr_t at = (uintptr_t) info->si_addr;
        int i, error = errno;
        for (i = 0; i < PRIORY_MAPPINGS; i++) {
            if (at - priory_mappings[i].start < priory_mappings[i].size
                && mmap((void*) (at & ~(priory_page - 1)), priory_page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
                priory_mappings[i].lost = 1;
                errno = error;
                return;
            }
        }
        sigaction(SIGBUS, &priory_earlier, NULL);  /* the instruction runs again, now with the earlier handler */
        (void) number, (void) context;
    }

    static void priory_watch(void) {
        struct sigaction now, action = {.sa_sigaction = priory_replace_page, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        priory_page = (uintptr_t) sysconf(_SC_PAGESIZE);
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGBUS, NULL, &now) == 0
            && !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == priory_replace_page)
            && sigaction(SIGBUS, &action, NULL) == 0)
            priory_earlier = now;
    }

    static int priory_add_mapping(const void* start, size_t size) {
        int i;
        priory_watch();
        for (i = 0; i < PRIORY_MAPPINGS; i++)
            if (priory_mappings[i].size == 0) {
                priory_mappings[i].start = (uintptr_t) start;
                priory_mappings[i].lost = 0;
                priory_mappings[i].size = size;
                return i;
            }
        return -1;
    }
    """
    int add_mapping "priory_add_mapping" (const void* start, size_t size) noexcept
    struct Mapping:
        size_t size
        int lost
    Mapping* mappings "priory_mappings"

cdef enum:
    BLOCK = 4096  # a page: a message touches single slots, so smaller is faster, and this takes 0.2 % of the file
    AT_ONCE = 256  # blocks that each call verifies besides those it needs: 1 MB takes a tenth of a millisecond

cdef uint64_t P1 = <uint64_t> 0x9E3779B185EBCA87
cdef uint64_t P2 = <uint64_t> 0xC2B2AE3D27D4EB4F
cdef uint64_t P3 = <uint64_t> 0x165667B19E3779F9


class DamagedBlockError(ValueError):
    """Mapped memory has another checksum than when it was written."""


cdef inline uint64_t turned(uint64_t value, int by) noexcept nogil:
    """Rotate the bits of a number to the left."""
    return value << by | value >> (64 - by)


cdef inline uint64_t mixed(uint64_t state, uint64_t word) noexcept nogil:
    """Return the state after a word."""
    return turned(state + word * P2, 31) * P1


cdef uint64_t checksum(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """Return the checksum of some bytes; those after the last 32 are filled up with zeros."""
    cdef uint64_t a = P1 + P2, b = P2, c = <uint64_t> size, d = <uint64_t> size - P1
    cdef uint64_t words[4]
    cdef Py_ssize_t at = 0
    while at + 32 <= size:
        memcpy(words, data + at, 32)
        a, b, c, d = mixed(a, words[0]), mixed(b, words[1]), mixed(c, words[2]), mixed(d, words[3])
        at += 32
    if at < size:
        memset(words, 0, 32)
        memcpy(words, data + at, size - at)
        a, b, c, d = mixed(a, words[0]), mixed(b, words[1]), mixed(c, words[2]), mixed(d, words[3])
    a = turned(a, 1) + turned(b, 7) + turned(c, 12) + turned(d, 18)
    a = (a ^ a >> 33) * P2
    a = (a ^ a >> 29) * P3
    return a ^ a >> 32


def checksum_of(const uint8_t[::1] data):
    """Return the checksum of some bytes.

    >>> checksum_of(b"Lunch?") == checksum_of(b"Lunch?"), checksum_of(b"Lunch?") == checksum_of(b"Lunch!")
    (True, False)
    """
    return checksum(&data[0] if data.shape[0] else NULL, data.shape[0])


def block_checksums(parts):
    """Return the checksums, 8 bytes each, of the blocks of several parts that are written one after another.

    >>> block_checksums([bytes(5000), bytes(3192)]) == block_checksums([bytes(8192)])
    True
    """
    cdef const uint8_t[::1] part
    cdef uint8_t open_block[BLOCK]
    cdef Py_ssize_t filled = 0, at, taken
    cdef uint64_t value
    sums = bytearray()
    for part in parts:
        at = 0
        while at < part.shape[0]:
            if filled == 0 and part.shape[0] - at >= BLOCK:
                value = checksum(&part[at], BLOCK)
                at += BLOCK
            else:
                taken = min(BLOCK - filled, part.shape[0] - at)
                memcpy(open_block + filled, &part[at], taken)
                filled, at = filled + taken, at + taken
                if filled < BLOCK:
                    continue
                value, filled = checksum(open_block, BLOCK), 0
            sums += (<const uint8_t*> &value)[:8]
    if filled:
        value = checksum(open_block, filled)
        sums += (<const uint8_t*> &value)[:8]
    return bytes(sums)


def n_blocks(Py_ssize_t size):
    """Return the number of blocks of a size in bytes."""
    return size // BLOCK + (size % BLOCK > 0)


cdef class MappedBlocks:
    """The blocks of memory into which a file is mapped privately; only what was verified may be changed."""

    def __cinit__(self, const uint8_t[::1] memory, const uint64_t[::1] sums):
        """Watch over memory with these checksums, as long as this object lives."""
        self.place = -1
        self.size, self.n_blocks = memory.shape[0], (memory.shape[0] + BLOCK - 1) // BLOCK
        if self.size == 0 or sums.shape[0] != self.n_blocks:
            raise ValueError(f"{self.size} bytes do not have {sums.shape[0]} checksums")
        self.memory, self.sums_memory = memory, sums
        self.first, self.sums = &memory[0], &sums[0]
        self.verified = bytearray(self.n_blocks)
        self.n_left, self.next = self.n_blocks, 0
        self.place = add_mapping(self.first, self.size)

    def __dealloc__(self):
        if self.first != NULL and self.place >= 0:  # the place is 0 if Python refused the arguments
            mappings[self.place].size = 0

    @property
    def is_lost(self):
        """Whether a part of the file could not be read when it was used."""
        return self.place >= 0 and mappings[self.place].lost != 0

    @property
    def are_verified(self):
        """Whether every block was verified, and none was lost."""
        return self.n_left == 0 and not self.is_lost

    cdef int require(self, const void* start, Py_ssize_t size) except -1:
        """Raise DamagedBlockError if a part of the memory is damaged; memory elsewhere is not ours to verify."""
        cdef Py_ssize_t at = <const uint8_t*> start - self.first, block, last
        if self.n_left == 0 or size <= 0 or at < 0 or at >= self.size:
            return 0
        last = min(at + size, self.size) - 1
        for block in range(at // BLOCK, last // BLOCK + 1):
            if not self.verified[block]:
                if checksum(self.first + block * BLOCK, min(BLOCK, self.size - block * BLOCK)) != self.sums[block]:
                    raise DamagedBlockError(f"block {block} is damaged")
                self.verified[block] = 1
                self.n_left -= 1
        return 0

    def require_part(self, const uint8_t[::1] part):
        """Raise DamagedBlockError if a part of the memory is damaged."""
        if part.shape[0]:
            self.require(&part[0], part.shape[0])

    def require_some(self):
        """Verify some further blocks, so that after a while all are verified."""
        cdef Py_ssize_t end = min(self.next + AT_ONCE, self.n_blocks)
        self.require(self.first + self.next * BLOCK, (end - self.next) * BLOCK)
        self.next = end

    def require_all(self):
        """Raise DamagedBlockError unless all blocks are undamaged."""
        self.require(self.first, self.size)
