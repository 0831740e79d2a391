cdef bytes folded(bytes text)
