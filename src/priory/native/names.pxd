from libc.stdint cimport int64_t, uint32_t

from priory.native.blocks cimport MappedBlocks


cdef inline uint32_t hash_of(uint32_t key) noexcept nogil:
    """Spread a key over all 32 bits, one to one except that 0 becomes 1: a slot with 0 is empty."""
    cdef uint32_t spread = key * <uint32_t> 0x9E3779B1
    return spread if spread else 1


cdef struct Slots:  # where the names of a table are: read without the GIL while another thread moves them elsewhere
    uint32_t* first
    Py_ssize_t stride
    int shift


cdef inline uint32_t* home_in(Slots slots, uint32_t hash_) noexcept nogil:
    """Return the slot from which on a hash is searched."""
    return slots.first + (hash_ >> slots.shift) * slots.stride


cdef inline uint32_t* find_in(Slots slots, uint32_t hash_) noexcept nogil:
    """Return the columns of a name; NULL if it was never counted."""
    cdef uint32_t* slot = home_in(slots, hash_)
    while slot[0] < hash_ and slot[0]:
        slot += slots.stride
    return slot + 1 if slot[0] == hash_ else NULL


cdef class NameTable:
    cdef readonly object memory
    cdef readonly Py_ssize_t n
    cdef readonly int bits
    cdef readonly Py_ssize_t columns
    cdef readonly int64_t nameless
    cdef public MappedBlocks blocks  # of the file that the slots are mapped from; None if there is none
    cdef Py_ssize_t stride, n_slots
    cdef Slots slots

    cdef inline uint32_t* home(self, uint32_t hash_) noexcept nogil:
        """Return the slot from which on a hash is searched."""
        return home_in(self.slots, hash_)

    cdef inline uint32_t* find(self, uint32_t hash_) noexcept nogil:
        """Return the columns of a name; NULL if it was never counted."""
        return find_in(self.slots, hash_)

    cdef int require(self, uint32_t hash_, bint to_change) except -1
    cdef uint32_t* insert(self, uint32_t hash_) except NULL
    cdef void remove_if_zero(self, uint32_t hash_) noexcept
    cdef int fit(self) except -1
    cdef int use(self, memory, int bits, Py_ssize_t n) except -1
    cdef int resize(self, int bits) except -1
    cdef bint take(self, const uint32_t* slot, const uint32_t* end) noexcept nogil
