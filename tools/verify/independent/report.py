"""Collects what the checks find, and makes the verdict of it: section 10 of docs/verification.md."""

from chain import Unreachable
from encoding import Invalid

OK, FALSE, CANNOT, LATE = "ok", "FALSE", "cannot be checked", "late or unpaid"
EXIT = {OK: 0, FALSE: 1, CANNOT: 2, LATE: 3}


class Report:
    """The findings of a verification."""

    def __init__(self):
        self.findings, self.notes, self.words = [], [], []

    def add(self, check, kind, text=""):
        """Records a finding of a check."""
        self.findings.append((check, kind, text))

    def run(self, check, function, *arguments):
        """Runs a check. Invalid makes it false and Unreachable impossible. Returns its value, or None."""
        before = len(self.findings)
        try:
            value = function(*arguments)
        except Invalid as error:
            self.add(check, FALSE, str(error))
        except Unreachable as error:
            self.add(check, CANNOT, str(error))
        except Exception as error:  # noqa: BLE001 - a document or node that surprises the verifier proves nothing
            self.add(check, CANNOT, f"unexpected: {error!r}")
        else:
            if len(self.findings) == before:
                self.add(check, OK)
            return value
        return None

    def has(self, *kinds):
        """Whether there is a finding of one of these kinds."""
        return any(kind in kinds for _, kind, _ in self.findings)

    def verdict(self):
        """One false check makes it false; otherwise an impossible one, otherwise a late one, decides."""
        return next((kind for kind in (FALSE, CANNOT, LATE) if self.has(kind)), OK)

    def show(self, yes="true"):
        """Prints everything and returns the exit code."""
        for check, kind, text in self.findings:
            print(f"  {check:14} {kind}{': ' if text else ''}{text}")
        for note in self.notes:
            print(f"  note: {note}")
        for word in self.words:
            print(f"  on the house's word: {word}")
        verdict = self.verdict()
        print({OK: yes, FALSE: "false", CANNOT: CANNOT, LATE: yes + ", but late or unpaid"}[verdict])
        return EXIT[verdict]
