import os
import signal

from priory.processes.fork import fork_child


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_a_child_exits_when_it_is_done_and_never_returns(capfd):
    def fail() -> None:
        raise ValueError("what went wrong")

    def leave() -> None:
        raise SystemExit(0)

    assert ended(fork_child(lambda: None)) == 0
    assert ended(fork_child(fail)) == 1
    assert "ValueError: what went wrong" in capfd.readouterr().err
    assert ended(fork_child(leave)) == 1


def test_a_child_has_no_handlers_of_its_parent_and_ignores_ctrl_c():
    heard: list[int] = []
    awake, waking = os.pipe()
    os.set_blocking(waking, False)
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    woken_before = signal.set_wakeup_fd(waking)
    try:
        process = fork_child(lambda: os.kill(os.getpid(), signal.SIGUSR1))
        assert ended(process) == -signal.SIGUSR1
        assert ended(fork_child(lambda: os.kill(os.getpid(), signal.SIGINT))) == 0
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    finally:
        signal.set_wakeup_fd(woken_before)
        signal.signal(signal.SIGUSR1, before)
    os.close(waking)
    assert os.read(awake, 100) == b""  # nothing but its end
    os.close(awake)
    assert not heard
