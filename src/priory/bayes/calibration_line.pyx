# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, allow_none_for_extension_args=False
"""Fit the calibration line and the rates of wrong labels; `calibration` explains the model.

Newton's method on four parameters, over a few hundred bins. It runs for every message that is scored after another was
learned. With numpy it took longer than scoring the message (0.8 ms against 0.1 ms), because each of some hundred small
operations has its overhead.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport int64_t, uint64_t

cdef int STEPS = 200
cdef double CLOSE = 1e-6  # a step of this length is the last,
cdef double NEAR = 1e-4  # or of this length, with the exact curvature
cdef int HALVINGS = 60  # of a step that is too long: an infinite step stays infinite, and is given up
cdef double ALMOST = 0.1  # from here on the rates move with the line
cdef double LEAST_BEND = 1e-9  # the part of a parameter's curvature that the other parameters must leave to it
cdef double FURTHEST = 30.0  # log-odds are clipped here: beyond, a probability is practically certain


cdef struct Bin:
    double score, rest, own  # messages with this score: taught as another label, and as the label


cdef struct Prior:
    double line[2]  # slope and intercept
    double precision[2]
    double wrong, right  # labels that a rate starts with
    double least, most  # limits of a rate


cdef struct Point:
    double at[4]  # slope, intercept, and the rates of wrong labels: false positives, false negatives
    double height  # the log-posterior
    double up[4]  # the gradient
    double bend[10]  # the negative Hessian, row by row, up to the diagonal: the part that is positive definite,
    double dip[10]  # and the rest


cdef void evaluate(Point* here, const Bin* bins, Py_ssize_t n, const Prior* prior) noexcept nogil:
    """Compute the log-posterior of the parameters, with its gradient and curvature.

    The likelihood of a message taught as the label is q = e₁ + (1 - e₀ - e₁) p, of another 1 - q.
    """
    cdef Py_ssize_t i, j
    cdef double score, own, rest, p, other, q, pull, spread, gain, toward, steep, bent
    cdef double slope = here.at[0], intercept = here.at[1], false_positives = here.at[2]
    cdef double span = 1 - here.at[2] - here.at[3], height = 0
    cdef bint with_rates = prior.most > prior.least
    cdef double up0 = 0, up1 = 0, up2 = 0, up3 = 0
    cdef double bend0 = 0, bend1 = 0, bend2 = 0, bend3 = 0, bend4 = 0, bend5 = 0, bend6 = 0, bend7 = 0, bend8 = 0
    cdef double bend9 = 0, dip0 = 0, dip1 = 0, dip2 = 0, dip3 = 0, dip4 = 0
    for i in range(n):
        score, rest, own = bins[i].score, bins[i].rest, bins[i].own
        p = 1 / (1 + exp(-max(-FURTHEST, min(slope * score + intercept, FURTHEST))))
        other = 1 - p
        q = false_positives + span * p
        pull = spread = 0  # how an outcome pulls q, and how that changes with q
        if own > 0:
            height += own * log(q)
            pull = own / q
            spread = pull / q
        if rest > 0:
            height += rest * log(1 - q)
            bent = rest / (1 - q)
            pull -= bent
            spread += bent / (1 - q)
        toward = p * other
        gain = span * toward
        steep = pull * gain
        up0 += steep * score
        up1 += steep
        bent = steep * (p - other)
        if bent < 0:
            dip0 += bent * score * score
            dip1 += bent * score
            dip2 += bent
            bent = 0
        bent += spread * gain * gain
        bend0 += bent * score * score
        bend1 += bent * score
        bend2 += bent
        if not with_rates:
            continue
        up2 += pull * other
        up3 -= pull * p
        bent = pull * toward
        dip3 += bent * score
        dip4 += bent
        bent = spread * gain * other
        bend3 += bent * score
        bend4 += bent
        bent = spread * gain * p
        bend6 -= bent * score
        bend7 -= bent
        bend5 += spread * other * other
        bend8 -= spread * toward
        bend9 += spread * p * p
    here.up[0], here.up[1], here.up[2], here.up[3] = up0, up1, up2, up3
    here.bend[0], here.bend[1], here.bend[2], here.bend[3], here.bend[4] = bend0, bend1, bend2, bend3, bend4
    here.bend[5], here.bend[6], here.bend[7], here.bend[8], here.bend[9] = bend5, bend6, bend7, bend8, bend9
    for j in range(10):
        here.dip[j] = 0
    here.dip[0], here.dip[1], here.dip[2] = dip0, dip1, dip2
    here.dip[3] = here.dip[6] = dip3
    here.dip[4] = here.dip[7] = dip4
    for j in range(2):
        height -= prior.precision[j] * (here.at[j] - prior.line[j]) ** 2 / 2
        here.up[j] -= prior.precision[j] * (here.at[j] - prior.line[j])
        p, other = here.at[j + 2], 1 - here.at[j + 2]
        height += prior.wrong * log(p) + prior.right * log(other)
        here.up[j + 2] += prior.wrong / p - prior.right / other
    here.bend[0] += prior.precision[0]
    here.bend[2] += prior.precision[1]
    here.bend[5] += prior.wrong / here.at[2] ** 2 + prior.right / (1 - here.at[2]) ** 2
    here.bend[9] += prior.wrong / here.at[3] ** 2 + prior.right / (1 - here.at[3]) ** 2
    here.height = height


cdef bint solve(const Point* here, const bint* free, bint exact, double* move) noexcept nogil:
    """Find the Newton step of the free parameters by Cholesky's decomposition; return False if there is none uphill.

    Without the part of the curvature that can bend the other way, there always is one.
    """
    cdef double root[10]
    cdef double rest
    cdef Py_ssize_t i, j, k, row, column
    for i in range(4):
        if not free[i]:
            continue
        row = i * (i + 1) // 2
        for j in range(i + 1):
            if not free[j]:
                continue
            column = j * (j + 1) // 2
            rest = here.bend[row + j] + here.dip[row + j] if exact else here.bend[row + j]
            for k in range(j):
                if free[k]:
                    rest -= root[row + k] * root[column + k]
            if i != j:
                root[row + j] = rest / root[column + j]
            elif rest > LEAST_BEND * here.bend[row + j]:
                root[row + j] = sqrt(rest)
            elif exact:
                return False
            else:
                root[row + j] = sqrt(LEAST_BEND * here.bend[row + j])
        rest = here.up[i]
        for k in range(i):
            if free[k]:
                rest -= root[row + k] * move[k]
        move[i] = rest / root[row + i]
    for i in range(3, -1, -1):
        if not free[i]:
            move[i] = 0
            continue
        for k in range(i + 1, 4):
            if free[k]:
                move[i] -= root[k * (k + 1) // 2 + i] * move[k]
        move[i] /= root[i * (i + 1) // 2 + i]
    return True


cdef double step_from(const Point* here, Point* ahead, const Prior* prior, const double* move) noexcept nogil:
    """Move the parameters, the rates within their limits; return how far the one goes that moves most."""
    cdef double moved = 0
    cdef Py_ssize_t i
    for i in range(4):
        ahead.at[i] = here.at[i] + move[i]
        if i >= 2:
            ahead.at[i] = max(prior.least, min(ahead.at[i], prior.most))
        moved = max(moved, fabs(ahead.at[i] - here.at[i]))
    return moved


cdef bint climb(Point* here, const Bin* bins, Py_ssize_t n, const Prior* prior, bint* with_rates) noexcept nogil:
    """Take one step uphill; tell whether it was the last.

    The rates move only when the line alone is nearly on top, which sets `with_rates`. Otherwise a line that is far off
    at first would be believed, and the labels not.

    A step that is too long is halved. A rate at a limit that the gradient points beyond stays there. After a short step
    with the exact curvature, the next would be shorter than any that matters: its length is the square.
    """
    cdef Point ahead
    cdef bint free[4]
    cdef double move[4]
    cdef double moved
    cdef bint exact
    cdef Py_ssize_t i, halved
    for i in range(4):
        free[i] = i < 2 or with_rates[0] and not (
            here.at[i] <= prior.least and here.up[i] <= 0 or here.at[i] >= prior.most and here.up[i] >= 0
        )
    exact = solve(here, free, True, move)
    if not exact:
        solve(here, free, False, move)
    moved = step_from(here, &ahead, prior, move)
    if not with_rates[0] and moved <= ALMOST and prior.most > prior.least:
        with_rates[0] = True
        return climb(here, bins, n, prior, with_rates)
    if moved <= (NEAR if exact else CLOSE):
        here.at = ahead.at
        return True
    evaluate(&ahead, bins, n, prior)
    for halved in range(HALVINGS):
        if not ahead.height < here.height or moved <= CLOSE:
            break
        for i in range(4):
            move[i] /= 2
        moved = step_from(here, &ahead, prior, move)
        evaluate(&ahead, bins, n, prior)
    here[0] = ahead
    return moved <= CLOSE


def n_outcomes(const int64_t[:, :] outcomes):
    """Return the numbers of outcomes 0 and 1 in outcomes[bin, 0 or 1]."""
    cdef Py_ssize_t i
    cdef uint64_t rest = 0, own = 0  # of a damaged table they may overflow
    if outcomes.shape[1] != 2:
        raise IndexError(f"outcomes are of two sorts, not of {outcomes.shape[1]}")
    for i in range(outcomes.shape[0]):
        rest += <uint64_t> outcomes[i, 0]
        own += <uint64_t> outcomes[i, 1]
    return <int64_t> rest, <int64_t> own


def most_probable_line(const double[::1] score, const int64_t[:, :] outcomes, const double[::1] prior,
                       const double[::1] precision, const double[::1] labels, double least, double most,
                       const double[:, :] presumed=None):
    """Return slope, intercept, and the rates of false positives and false negatives that are most probable together.

    `score[i]` was given to `outcomes[i, 1]` messages taught as the label and to `outcomes[i, 0]` others; `presumed` are
    numbers of further messages, which need not be whole. The prior of slope and intercept is given with its precision;
    that of each rate is worth `labels`, some wrong and some right. Rates stay between `least` and `most`; if these are
    equal, only the line is fitted.
    """
    if outcomes.shape[0] != score.shape[0] or outcomes.shape[1] != 2:
        raise IndexError(f"{score.shape[0]} scores have {outcomes.shape[0]} outcomes")
    if prior.shape[0] != 2 or precision.shape[0] != 2 or labels.shape[0] != 2:
        raise IndexError("a prior has two numbers")
    if presumed is not None and (presumed.shape[0] != score.shape[0] or presumed.shape[1] != 2):
        raise IndexError(f"{score.shape[0]} scores have {presumed.shape[0]} presumed outcomes")
    cdef Py_ssize_t i, step, n = 0
    cdef bint is_presumed = presumed is not None
    cdef double rest, own
    cdef Point here
    cdef Prior before
    cdef bint with_rates = False
    cdef Bin* bins = <Bin*> PyMem_Malloc(max(score.shape[0], 1) * sizeof(Bin))
    if bins == NULL:
        raise MemoryError
    with nogil:
        for i in range(score.shape[0]):
            rest, own = outcomes[i, 0], outcomes[i, 1]
            if is_presumed:
                rest += presumed[i, 0]
                own += presumed[i, 1]
            if rest > 0 or own > 0:
                bins[n] = Bin(score[i], rest, own)
                n += 1
        for i in range(2):
            before.line[i], before.precision[i] = prior[i], precision[i]
            here.at[i], here.at[i + 2] = prior[i], least
        before.wrong, before.right, before.least, before.most = labels[0], labels[1], least, most
        evaluate(&here, bins, n, &before)
        for step in range(STEPS):
            if climb(&here, bins, n, &before, &with_rates):
                break
    PyMem_Free(bins)
    return here.at[0], here.at[1], here.at[2], here.at[3]
