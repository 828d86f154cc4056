"""Rate limits: a token bucket that says how long to wait, and never waits itself."""


class TokenBucket:
    """At most `rate_per_s` on average with bursts of `burst`, as client-go's limiter counts them.

    Pure: `reserve_s(now_ns)` books one token and returns the seconds until it may be used.
    """

    def __init__(self, rate_per_s: float, burst: int) -> None:
        if rate_per_s <= 0 or burst < 1:
            raise ValueError(f"a token bucket needs a positive rate and burst, not {rate_per_s} and {burst}")
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._tokens = float(burst)
        self._last_ns: int | None = None

    def reserve_s(self, now_ns: int) -> float:
        """Book one token; the seconds to wait before acting on it."""
        self._refill(now_ns)
        self._tokens -= 1
        return 0.0 if self._tokens >= 0 else -self._tokens / self._rate_per_s

    def take(self, now_ns: int) -> bool:
        """Take one token if it is there now; otherwise nothing is booked."""
        self._refill(now_ns)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self, now_ns: int) -> None:
        if self._last_ns is not None:
            refill = (now_ns - self._last_ns) / 1e9 * self._rate_per_s
            self._tokens = min(self._burst, self._tokens + refill)
        self._last_ns = now_ns
