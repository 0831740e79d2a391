# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Fit the calibration line from scores to log-odds; `calibration` explains the model.

Newton's method on two parameters, over a few hundred bins. It runs for every message that is scored after another was
learned. With numpy it took longer than scoring the message (0.8 ms against 0.1 ms), because each of some hundred small
operations has its overhead.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport exp, fabs, log
from libc.stdint cimport int64_t

cdef int STEPS = 200
cdef double CLOSE = 1e-6
cdef double FURTHEST = 30.0  # log-odds are clipped here: beyond, a probability is practically certain


cdef struct Bin:
    double score, rest, own  # messages with this score: of other labels, and of the label


cdef struct Point:
    double slope, intercept, height  # the line and its log-posterior
    double up[2]  # the gradient
    double bend[3]  # the negative Hessian: slope-slope, slope-intercept, intercept-intercept


cdef Point posterior_at(const Bin* bins, Py_ssize_t n, double slope, double intercept, const double[::1] prior,
                const double[::1] precision, double slips) noexcept nogil:
    """Return the log-posterior of a line, Σ log(ε + p) plus the log-prior, with its gradient and curvature.

    The curvature is that of logistic regression with each outcome weighted by the probability that its label is right:
    a Newton step always goes uphill, though it may be too long.
    """
    cdef Py_ssize_t i
    cdef double score, own, rest, p, sure, unsure, surprise, certainty
    cdef Point at
    at.slope, at.intercept = slope, intercept
    at.height = -(precision[0] * (slope - prior[0]) ** 2 + precision[1] * (intercept - prior[1]) ** 2) / 2
    at.up[0], at.up[1] = -precision[0] * (slope - prior[0]), -precision[1] * (intercept - prior[1])
    at.bend[0], at.bend[1], at.bend[2] = precision[0], 0, precision[1]
    for i in range(n):
        score, rest, own = bins[i].score, bins[i].rest, bins[i].own
        p = 1 / (1 + exp(-max(-FURTHEST, min(slope * score + intercept, FURTHEST))))
        sure = unsure = 0
        if own > 0:
            at.height += own * log(slips + p)
            sure = own * p / (slips + p)
        if rest > 0:
            at.height += rest * log(slips + 1 - p)
            unsure = rest * (1 - p) / (slips + 1 - p)
        surprise = sure * (1 - p) - unsure * p
        certainty = (sure + unsure) * p * (1 - p)
        at.up[0] += surprise * score
        at.up[1] += surprise
        at.bend[0] += certainty * score * score
        at.bend[1] += certainty * score
        at.bend[2] += certainty
    return at


def n_outcomes(const int64_t[:, :] outcomes):
    """Return the numbers of outcomes 0 and 1 in outcomes[bin, 0 or 1]."""
    cdef Py_ssize_t i
    cdef int64_t rest = 0, own = 0
    if outcomes.shape[1] != 2:
        raise IndexError(f"outcomes are of two sorts, not of {outcomes.shape[1]}")
    for i in range(outcomes.shape[0]):
        rest += outcomes[i, 0]
        own += outcomes[i, 1]
    return rest, own


def most_probable_line(const double[::1] score, const int64_t[:, :] outcomes, const double[::1] prior,
                       const double[::1] precision, double slips):
    """Return slope and intercept of the most probable line, by Newton's method from the prior.

    `score[i]` was given to `outcomes[i, 1]` messages of the label and to `outcomes[i, 0]` others. A step that would
    lead downhill, which the slips make possible, is halved.
    """
    if outcomes.shape[0] != score.shape[0] or outcomes.shape[1] != 2 or prior.shape[0] != 2 or precision.shape[0] != 2:
        raise IndexError(f"{score.shape[0]} scores have {outcomes.shape[0]} outcomes")
    cdef Py_ssize_t i, step, n = 0
    cdef double scale, move0, move1
    cdef Point ahead, here
    cdef Bin* bins = <Bin*> PyMem_Malloc(max(score.shape[0], 1) * sizeof(Bin))
    if bins == NULL:
        raise MemoryError
    with nogil:
        for i in range(score.shape[0]):
            if outcomes[i, 0] or outcomes[i, 1]:
                bins[n] = Bin(score[i], outcomes[i, 0], outcomes[i, 1])
                n += 1
        here = posterior_at(bins, n, prior[0], prior[1], prior, precision, slips)
        for step in range(STEPS):
            scale = here.bend[0] * here.bend[2] - here.bend[1] * here.bend[1]
            move0 = (here.bend[2] * here.up[0] - here.bend[1] * here.up[1]) / scale
            move1 = (here.bend[0] * here.up[1] - here.bend[1] * here.up[0]) / scale
            ahead = posterior_at(bins, n, here.slope + move0, here.intercept + move1, prior, precision, slips)
            while ahead.height < here.height and max(fabs(move0), fabs(move1)) > CLOSE:
                move0, move1 = move0 / 2, move1 / 2
                ahead = posterior_at(bins, n, here.slope + move0, here.intercept + move1, prior, precision, slips)
            here = ahead
            if max(fabs(move0), fabs(move1)) <= CLOSE:
                break
    PyMem_Free(bins)
    return here.slope, here.intercept
