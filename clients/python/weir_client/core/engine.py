"""The plans of a Limiter's calls, and its memory: what it counts, and the denials that it keeps."""

from .causes import cause_of
from .counters import Counters
from .decision import read_decision, unavailable
from .denials import Denials
from .errors import Limited, Mistake, Unavailable
from .exchange import Ask, Lost, Refused
from .numbers import seconds
from .words import Request, encode

HOLD_TRIES = 2  # a hold has an id, so that a request whose reply is lost may be sent again
VERIFIED = ("weir:verify", "1/s")


class Engine:
    """Makes plans; see __init__.py. Its methods that return a plan are generators."""

    def __init__(self, settings):
        self.deadline = settings.deadline
        self._connect_seconds = settings.connect_seconds
        self.fails_open = settings.fail == "open"
        self.clock = settings.clock
        self.counters = Counters(settings.on_unavailable, self.fails_open)
        self._denials = Denials()
        self._has_succeeded = False

    # --- Decisions --------------------------------------------------------------------------------

    def allow(self, given, details=False):
        """A plan: the Decision of RL.ALLOW, or a denial that is kept."""
        return self.decide_or_keep(b"RL.ALLOW", self.request(given), details=details)

    def decide_or_keep(self, command, request, *options, details=False, read=read_decision):
        """A plan: the Decision, without a request if a denial of the same words is kept."""
        now = self.clock()
        kept_as = (request.words, details or request.has_several_keys)
        if (kept := self._denials.find(kept_as, now)) is not None:
            self.counters.add("kept")
            return kept
        decision = yield from self.decide(
            command, request, request.words, *options, details=details, read=read
        )
        if decision.reason in ("denied", "never"):
            self._denials.keep(kept_as, now, decision)
        return decision

    def look(self, command, given, details=False):
        """A plan: the Decision of RL.PEEK, RL.CHARGE or RL.REFUND, which keep no denials."""
        request = self.request(given)
        return self.decide(command, request, request.words, details=details)

    def wait(self, timeout, given, details=False):
        """A plan: the Decision of RL.WAIT, which comes when the tokens are there."""
        request = self.request(given)
        milliseconds = b"%d" % round(seconds(timeout, "the timeout", may_be_zero=True) * 1000)
        return self.decide(
            b"RL.WAIT", request, request.words, b"TIMEOUT", milliseconds,
            details=details, time=timeout + self.deadline, apart=True,
        )

    def decide(self, command, request, words, *options, details=False, tries=1, time=None,
               apart=False, read=read_decision):
        """A plan: the Decision, which is unavailable if there is no answer. `read` makes it of a
        reply. A server that does not know RL.SLICE is no mistake of the program."""
        if details or request.has_several_keys:  # to know which key was denied
            options += (b"WITHLIMITS",)
        try:
            reply = yield from self.call(
                (command, *words, *options), tries=tries, time=time, apart=apart
            )
            decision = read(reply, request)
        except Unavailable as error:
            return self.without_answer(error.cause)
        except Mistake as mistake:
            if command != b"RL.SLICE" or not mistake.is_unknown_command:
                self.counters.add("asked", "mistakes")
            raise
        self.counters.add_decision(decision)
        return decision

    def without_answer(self, cause):
        """Tells the outage; the Decision that the Limiter is to take."""
        self.counters.add_unavailable(cause, self.clock())
        return unavailable(cause, self.fails_open)

    # --- Other calls ------------------------------------------------------------------------------

    def command(self, given):
        """A plan: the reply as it is. Raises Mistake or Unavailable.

        Commands besides RL.* may change their connection (MULTI, SUBSCRIBE, AUTH), or be answered
        more than once or never. So each has a connection that is closed after it.
        """
        if not given:
            raise Mistake("a command has at least one word")
        words = encode(given)
        is_alone = not words[0].upper().startswith(b"RL.")
        return self.call(words, apart=is_alone, closes=is_alone)

    def verify(self, given):
        """A plan: asks RL.PEEK, with time to connect. Raises Mistake or Unavailable."""
        words = (b"RL.PEEK", *Request(given or VERIFIED).words)
        yield from self.call(words, time=self._connect_seconds)

    def call(self, words, tries=1, time=None, apart=False, closes=False):
        """A plan: the reply, within `time` seconds. If it is lost, sends the words again while
        `tries` are left."""
        ask = Ask(words, self.deadline if time is None else time, apart, closes)
        while True:
            tries -= 1
            try:
                reply = yield ask
            except Lost as lost:
                if tries > 0 and not lost.is_final:
                    continue
                raise Unavailable(lost.cause, str(lost)) from lost
            except Refused as refused:
                cause = cause_of(refused, self._has_succeeded)
                error = Unavailable(cause, refused.text) if cause else Mistake(refused.text)
                raise error from None
            self._has_succeeded = True
            return reply

    # --- What callers passed ----------------------------------------------------------------------

    def request(self, given):
        """The Request of these words; counts a mistake in them."""
        try:
            return Request(given)
        except (Mistake, TypeError):
            self.counters.add("mistakes")
            raise


def limited(decision, request):
    """The exception for a call that is not allowed."""
    group = decision.limits[decision.limit].group if decision.limits else 0
    return Limited(request.key(group), decision)


def words_for(words, arguments, named):
    """The words of a call: those that are functions are asked, with the call's arguments."""
    return tuple(word(*arguments, **named) if callable(word) else word for word in words)
