# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The most probable line from scores to log-odds; `calibration` says what it is for.

Newton's method on two numbers, over a few hundred bins. It runs for every message that is scored after another was
learned: in numpy, with its price for each of some hundred small operations, it took more time than scoring the message
(0.8 ms against 0.1 ms).
"""

from libc.math cimport exp, fabs, log

cdef int STEPS = 200
cdef double CLOSE = 1e-6
cdef double FURTHEST = 30.0  # log-odds beyond which a probability is as good as certain


cdef double _probability(double score, double slope, double intercept) noexcept nogil:
    cdef double z = slope * score + intercept
    return 1 / (1 + exp(-max(-FURTHEST, min(z, FURTHEST))))


cdef double _height(const double[::1] score, const double[::1] rest, const double[::1] own, double slope,
                    double intercept, const double[::1] prior, const double[::1] precision, double slips) noexcept nogil:
    """Σ log(ε + p) over the outcomes, and the prior's logarithm."""
    cdef Py_ssize_t i
    cdef double p, total = 0
    for i in range(score.shape[0]):
        p = _probability(score[i], slope, intercept)
        total += own[i] * log(slips + p) + rest[i] * log(slips + 1 - p)
    return total - (precision[0] * (slope - prior[0]) ** 2 + precision[1] * (intercept - prior[1]) ** 2) / 2


def most_probable_line(const double[::1] score, const double[::1] rest, const double[::1] own,
                       const double[::1] prior, const double[::1] precision, double slips):
    """Return slope and intercept, from the prior uphill; a step that would lead down, as the slips make it do, is halved.

    The curvature is that of logistic regression, each outcome counted by the probability that it is no slip: a step is
    always uphill, though it may be too long.
    """
    cdef Py_ssize_t i, step
    cdef double slope = prior[0], intercept = prior[1], p, sure, unsure, surprise, certainty
    cdef double up0, up1, bend00, bend01, bend11, scale, move0, move1, ahead
    cdef double height = _height(score, rest, own, slope, intercept, prior, precision, slips)
    with nogil:
        for step in range(STEPS):
            up0, up1 = -precision[0] * (slope - prior[0]), -precision[1] * (intercept - prior[1])
            bend00, bend01, bend11 = precision[0], 0, precision[1]
            for i in range(score.shape[0]):
                p = _probability(score[i], slope, intercept)
                sure = own[i] * p / (slips + p)
                unsure = rest[i] * (1 - p) / (slips + 1 - p)
                surprise = sure * (1 - p) - unsure * p
                certainty = (sure + unsure) * p * (1 - p)
                up0 += surprise * score[i]
                up1 += surprise
                bend00 += certainty * score[i] * score[i]
                bend01 += certainty * score[i]
                bend11 += certainty
            scale = bend00 * bend11 - bend01 * bend01
            move0 = (bend11 * up0 - bend01 * up1) / scale
            move1 = (bend00 * up1 - bend01 * up0) / scale
            ahead = _height(score, rest, own, slope + move0, intercept + move1, prior, precision, slips)
            while ahead < height and max(fabs(move0), fabs(move1)) > CLOSE:
                move0, move1 = move0 / 2, move1 / 2
                ahead = _height(score, rest, own, slope + move0, intercept + move1, prior, precision, slips)
            slope, intercept, height = slope + move0, intercept + move1, ahead
            if max(fabs(move0), fabs(move1)) <= CLOSE:
                break
    return slope, intercept
